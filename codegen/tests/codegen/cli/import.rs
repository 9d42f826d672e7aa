//! `codegen import`: a draft of a spec, and the comparison of a spec with a header.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use codegen::source::Folder;

use crate::data;
use crate::tools::has_libclang;

/// Runs the command, and returns its exit status and what it says on standard output and standard error.
pub fn import(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_codegen"))
        .arg("import")
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command was built with this test");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.code().expect("the command was not killed"), out, err)
}

/// Returns a folder that does not exist.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("import").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder for tests can be written");
    }
    folder
}

fn header() -> String {
    data("c/import.h").to_string_lossy().into_owned()
}

#[test]
fn draft_keeps_every_rule_and_agrees_with_its_header() {
    if !has_libclang("draft_keeps_every_rule_and_agrees_with_its_header") {
        return;
    }
    let folder = folder("draft");
    let spec = folder.to_string_lossy();
    let (code, out, err) = import(&[&header(), "--spec", &spec]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("14 functions, 8 types and") && out.ends_with("It keeps every rule.\n"), "{out}");
    codegen::load(&Folder::new(&folder)).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)));
    let text = fs::read_to_string(folder.join("import/functions.yaml")).expect("the draft was written");
    for part in [
        "status: KitError",
        "{ name: \"no_room\", c: KIT_NO_ROOM, value: 2, summary: \"there is no room\" }",
        "path: { type: string, doc: \"where it is\" }\n",
        "kit: { type: Kit, dir: out, role: creates, doc: \"the kit\" }   # guess: ",
        "kit: { type: Kit, const: false, role: destroys, ",
        "summary: \"Serves to count the tools\"\n    doc: \"To count the tools. It is 'fast'.\"",
        "count: { type: size, dir: out, ",
        "user_data: { type: pointer, context_of: visitor, ",
        "data: { type: pointer, space: host, bytes: size, dir: out, ",
        "weights: { type: f32, count: num_weights, ",
        "place: { type: Place, by: pointer, ",
        "depth: { type: f64, count: 3, doc: \"how deep it is\" }",
        "row: { type: i32, doc: \"Its row.\" }",
        "label: { type: char, count: 16, doc: ",
        "{ name: List, kind: handle, c: kit_list, by: pointer, ",
        "kit_argument: { type: Tool, doc: ",
        "{ name: Bits, kind: handle, c: kit_bits, by: pointer, ",
        "variadic: true",
    ] {
        let interface = fs::read_to_string(folder.join("import/interface.yaml")).expect("it was written");
        assert!(text.contains(part) || interface.contains(part), "no {part:?} in\n{text}");
    }
    let (code, out, err) = import(&[&header(), "--spec", &spec]);
    assert_eq!((code, out.as_str()), (0, "`import` is as the header declares it.\n"), "{err}");
}

#[test]
fn table_is_drafted() {
    if !has_libclang("table_is_drafted") {
        return;
    }
    let (folder, header) = (folder("table"), data("c/import_table.h").to_string_lossy().into_owned());
    let spec = folder.to_string_lossy();
    let (code, out, err) = import(&[&header, "--spec", &spec]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("6 functions") && out.ends_with("It keeps every rule.\n"), "{out}");
    let text = fs::read_to_string(folder.join("import_table/interface.yaml")).expect("it was written");
    for part in [
        "  struct: kit_api\n  size_field: size\n",
        "        version: { type: u32, doc: \"The version of the plugin.\" }\n      slots: [open, close]\n",
        "      reserved: { name: reserved_kits, count: 4 }\n",
        "      slots: [read, ended]\n\nplugin:\n  entry: kit_get_api\n  owns: table\n",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let compared = ["--spec", &spec, "--interface", "import_table"];
    let (code, out, err) = import(&[&[header.as_str()][..], &compared].concat());
    assert_eq!((code, out.as_str()), (0, "`import_table` is as the header declares it.\n"), "{err}");
    let (code, out, err) = import(&[&header, "--spec", &spec, "--interface", "import_table_exports"]);
    let repointed =
        "Pointers to other types, which no compiled program notices (1):\n  type of kit_register\n";
    assert!(code == 1 && out.ends_with(repointed), "{out}{err}");
}

#[test]
fn what_changed_in_a_header_is_told() {
    if !has_libclang("what_changed_in_a_header_is_told") {
        return;
    }
    let folder = folder("changed");
    let spec = folder.to_string_lossy();
    let (code, out, err) = import(&[&header(), "--spec", &spec]);
    assert_eq!(code, 0, "{out}{err}");
    let text = fs::read_to_string(header()).expect("the header is a part of the tests");
    let text = text
        .replace("KIT_NO_ROOM = 2 /* there is no room */", "KIT_NO_ROOM = 3, KIT_LOST = 4")
        .replace("const char* kit_name(const kit_t* kit);", "typedef enum { KIT_RED } kit_colour;")
        .replace("int32_t row;", "int64_t row;")
        .replace("float* total", "double* total")
        .replace("kit_tool kit_first(kit_t* kit);", "kit_tool kit_last(kit_t* kit);");
    let changed = folder.join("import.h");
    fs::write(&changed, text).expect("the folder for tests can be written");
    let (code, out, err) = import(&[&changed.to_string_lossy(), "--spec", &spec, "--release", "2.0"]);
    assert_eq!(code, 1, "{out}{err}");
    for part in [
        "New functions (1):\n  `kit_last`\n",
        "New types (1):\n  `kit_colour`\n",
        "New values (1):\n  `KIT_LOST` = 4 of `kit_error_t`\n",
        "Functions that the header lacks (2):\n  `kit_name`\n  `kit_first`\n",
        "  KIT_NO_ROOM\n",
        "  type of kit_place.row\n",
        "Pointers to other types, which no compiled program notices (1):\n  type of kit_weigh\n",
        "  - name: kit_last\n    c: kit_last\n    since: \"2.0\"\n",
    ] {
        assert!(out.contains(part), "no {part:?} in\n{out}");
    }
    let (code, out, err) = import(&[&changed.to_string_lossy(), "--spec", &spec, "--format", "json"]);
    let json: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!((code, json["new"][0]["name"].as_str()), (1, Some("kit_last")), "{out}");
    assert_eq!(json["repointed"][0].as_str(), Some("type of kit_weigh"), "{out}");
    let renamed = fs::read_to_string(header()).expect("the header is a part of the tests");
    fs::write(&changed, renamed.replace("kit_place", "kit_spot"))
        .expect("the folder for tests can be written");
    let (code, out, err) = import(&[&changed.to_string_lossy(), "--spec", &spec]);
    assert_eq!(code, 1, "{out}{err}");
    for part in ["New types (1):\n  `kit_spot`\n", "Types that the header lacks (1):\n  `kit_place`\n"] {
        assert!(out.contains(part), "no {part:?} in\n{out}");
    }
}

/// Compares an interface of the example with its header after an edit.
fn of_example(interface: &str, header: &str, edit: (&str, &str)) -> (i32, String, String) {
    let example = crate::root().join("examples/known-apis");
    let changed = folder(interface);
    fs::create_dir_all(&changed).expect("the folder for tests can be written");
    for entry in fs::read_dir(example.join("include")).expect("the example has headers") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("a header is text");
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        // Without the assertions of the generated header, the comparison has to find the edit.
        let text: String =
            text.split_inclusive('\n').filter(|line| !line.starts_with("static_assert(")).collect();
        let text = if name == header {
            assert!(text.contains(edit.0), "`{name}` no longer says `{}`", edit.0);
            text.replacen(edit.0, edit.1, 1)
        } else {
            text
        };
        fs::write(changed.join(name), text).expect("the folder for tests can be written");
    }
    let [spec, include] = [example.join("spec"), changed].map(|path| path.to_string_lossy().into_owned());
    import(&[header, "-I", &include, "--spec", &spec, "--interface", interface])
}

#[test]
fn objects_and_tables_of_hosts_are_compared() {
    if !has_libclang("objects_and_tables_of_hosts_are_compared") {
        return;
    }
    let same = ("", "");
    for (interface, header) in [
        ("runtime", "ort_runtime.h"),
        ("base", "ort_base.h"),
        ("provider", "ort_provider.h"),
        ("provider_api", "ort_provider_api.h"),
        ("ggml", "ggml_objects.h"),
    ] {
        let (code, out, err) = of_example(interface, header, same);
        assert_eq!(code, 0, "{interface}: {out}{err}");
    }
    // A member of an object, a function of the host with another type, and an argument that comes earlier.
    let computed = "ggml_status (*graph_compute)(ggml_backend* backend, ggml_cgraph* graph);";
    let with_member = format!("void (*graph_plan)(ggml_backend* backend, int level);\n  {computed}");
    let code_of = "OrtErrorCode (*GetErrorCode)(const OrtStatus* status);";
    let (event, user_arg) =
        ("  PJRT_Event* event;\n  /** The function. */\n", "  void* user;\n  PJRT_Event* event;\n");
    for (interface, header, edit, expected) in [
        (
            "ggml",
            "ggml_objects.h",
            (computed, with_member.as_str()),
            &[
                "`graph_plan` of `ggml_backend_i`, after `graph_plan_compute`\n",
                "  size of ggml_backend\n",
                "  offset of ggml_backend_i.graph_compute\n",
            ][..],
        ),
        (
            "ggml",
            "ggml_objects.h",
            (computed, ""),
            &["Functions that the header lacks (1):\n  `graph_compute` of `ggml_backend_i`\n"][..],
        ),
        (
            "runtime",
            "ort_runtime.h",
            (code_of, "int (*GetErrorCode)(const OrtStatus* status);"),
            &["Changed or moved (1):\n  type of OrtApi.GetErrorCode\n"][..],
        ),
        (
            "pjrt",
            "pjrt_table.h",
            (event, user_arg),
            &["  size of PJRT_Event_OnReady_Args\n", "  offset of PJRT_Event_OnReady_Args.event\n"][..],
        ),
    ] {
        let (code, out, err) = of_example(interface, header, edit);
        assert_eq!(code, 1, "{interface}: {out}{err}");
        for part in expected {
            assert!(out.contains(part), "no {part:?} in\n{out}");
        }
    }
}

#[test]
fn header_that_cannot_be_read_and_a_folder_with_other_files_are_refused() {
    if !has_libclang("header_that_cannot_be_read_and_a_folder_with_other_files_are_refused") {
        return;
    }
    let folder = folder("refused");
    let spec = folder.to_string_lossy();
    let (code, _, err) = import(&["no_such_header.h", "--spec", &spec]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("libclang cannot read `no_such_header.h`"), "{err}");
    assert!(!folder.exists(), "a draft was written");
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    fs::write(folder.join("letter.txt"), "mine").expect("the folder for tests can be written");
    let (code, _, err) = import(&[&header(), "--spec", &spec]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("is neither empty nor a spec"), "{err}");
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1, "something was written");
}
