//! `tenon matrix`: sound plugins, those without a manifest, and damaged files.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Event, Result, Stream};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};
use tenon_testing::stub_device;

/// A plugin in Rust. Its manifest is in this program, whose format is that of a library.
#[derive(Default)]
struct RustNpu;

stub_device! {
    #[tenon::plugin(device_type = "rust_\"npu\"", since = "3.1", fallbacks = true)]
    impl RustNpu {}
    optional {
        fn device_min_chunk_size(&self, _: DeviceId) -> Result<usize> {
            Ok(64)
        }
    }
}

#[tenon_operators::operators]
impl Operators for RustNpu {
    fn relu(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        Ok(())
    }
}

/// Compiles the plugin of the doctor's tests with flags of the compiler.
fn plugin(name: &str, flags: &[&str]) -> PathBuf {
    let library = folder().join(format!("{name}.so"));
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(common::root().join("sdk-c/include"))
        .arg(common::root().join("tools/cli/tests/doctor/plugin.c"))
        .args(flags)
        .arg("-o")
        .arg(&library)
        .output()
        .expect("`cc` is not installed: apt-get install gcc libc6-dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix");
    fs::create_dir_all(&folder).expect("the folder is writable");
    folder
}

/// Writes a copy of a file with a text replaced by another one of the same length.
fn replaced(file: &Path, name: &str, from: &[u8], to: &[u8]) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(file).expect("the plugin was made");
    let found = bytes.windows(from.len()).position(|window| window == from).expect("the plugin has the text");
    bytes[found..found + to.len()].copy_from_slice(to);
    let copy = folder().join(name);
    fs::write(&copy, bytes).expect("the folder is writable");
    copy
}

/// Runs the command, and returns its exit status and output.
fn matrix(files: &[&Path], options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    let output = command.arg("matrix").args(files).args(options).output().expect("the command starts");
    (output.status.code(), common::text(&output))
}

/// Returns the only plugin of the command's JSON.
fn row(file: &Path, status: i32) -> Value {
    let (code, said) = matrix(&[file], &["--json"]);
    assert_eq!(code, Some(status), "{said}");
    let mut value: Value = serde_json::from_str(&said).expect("the output is JSON");
    value["plugins"][0].take()
}

/// Returns the support for each release, oldest first.
fn support(row: &Value) -> Vec<&str> {
    let releases = row["releases"].as_array().expect("a list");
    releases.iter().map(|cell| cell["support"].as_str().expect("a text")).collect()
}

#[test]
fn manifest_of_a_plugin_in_c_is_read() {
    let row = row(&plugin("c", &[]), 0);
    assert_eq!(row["source"], "manifest");
    assert_eq!(row["device_type"], "c_plugin");
    assert_eq!(row["manifest"]["build"]["language"], "c");
    assert_eq!(row["manifest"]["build"]["tenon"], env!("CARGO_PKG_VERSION"));
    assert_eq!(support(&row), ["yes"; 5]);
    let functions = row["manifest"]["functions"]["native"].as_array().expect("a list");
    assert_eq!(functions.len(), 18, "{functions:?}");
    assert!(functions.contains(&"set_device".into()) && !functions.contains(&"create_stream".into()));
}

#[test]
fn manifest_of_the_guide_is_read() {
    let page =
        fs::read_to_string(common::root().join("docs/src/guide/matrix.md")).expect("the page is there");
    let (_, text) = page.split_once("```json\n").expect("the page has a manifest");
    let (text, _) = text.split_once("```").expect("the block ends");
    let source = format!(
        "#include <stdint.h>\n\
         __attribute__((used, section(\".note.tenon\"), aligned(4))) static const struct {{\n\
           uint32_t sizes[3]; char owner[8]; char text[{}];\n\
         }} note = {{{{6, {}, 1}}, \"Tenon\", {text:?}}};\n",
        text.len(),
        text.len(),
    );
    let file = folder().join("guide.c");
    fs::write(&file, source).expect("the folder is writable");
    let library = folder().join("guide.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).status();
    assert!(made.expect("`cc` is installed").success());
    let row = row(&library, 0);
    assert_eq!((&row["device_type"], &row["native"]), (&"my_npu".into(), &2.into()));
    assert_eq!((&row["fallback"], support(&row)), (&1.into(), vec!["yes"; 5]));
}

#[test]
fn functions_are_found_in_compact_relocations() {
    let compact = plugin("compact", &["-Wl,-z,pack-relative-relocs"]);
    assert_eq!(row(&compact, 0)["native"], 18);
}

#[test]
fn manifest_of_a_plugin_in_cpp_is_read() {
    let row = row(&common::compile_cpp("examples/cpp-streams/device.cpp", "matrix_cpp"), 0);
    assert_eq!(row["device_type"], "cpp_streams");
    assert_eq!(row["manifest"]["build"]["language"], "c++");
    assert_eq!(row["native"], 27);
}

#[test]
fn manifest_of_a_plugin_in_rust_is_read() {
    let row = row(&std::env::current_exe().expect("a program has a file"), 0);
    assert_eq!(row["device_type"], "rust_\"npu\"");
    assert_eq!(row["manifest"]["build"]["language"], "rust");
    assert_eq!(row["manifest"]["operators"], serde_json::json!(["relu"]));
    assert_eq!(support(&row), ["loads", "loads", "yes", "yes", "yes"]);
    assert_eq!(row["native"], 14);
    let names = tenon::device::filled_by_fallbacks::<RustNpu>().into_string().expect("names are ASCII");
    let filled: Vec<&str> = names.split(' ').collect();
    assert_eq!(row["manifest"]["functions"]["fallback"], serde_json::json!(filled));
}

#[test]
fn releases_follow_from_the_macros() {
    let since = plugin("since", &["-DTENON_DEVICE_SINCE=3_2"]);
    assert_eq!(support(&row(&since, 0)), ["loads", "loads", "loads", "yes", "yes"]);
    let newest = plugin("newest", &["-DTENON_DEVICE_NEWEST_ONLY"]);
    assert_eq!(support(&row(&newest, 0)), ["no", "no", "no", "no", "yes"]);
}

#[test]
fn plugin_without_manifest_is_loaded() {
    let known = plugin("only", &["-DFAULT_ONLY_3_3"]);
    let row = row(&replaced(&known, "foreign.so", b"Tenon\0", b"Other\0"), 0);
    assert_eq!((&row["source"], &row["device_type"]), (&"loaded".into(), &"broken".into()));
    assert_eq!((&row["native"], &row["manifest"]), (&19.into(), &Value::Null));
    assert_eq!(support(&row), ["no", "no", "no", "no", "yes"]);
    let crashing = plugin("crashing", &["-DFAULT_CRASHES"]);
    let (code, said) = matrix(&[&known, &replaced(&crashing, "crash.so", b"Tenon\0", b"Other\0")], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it has no manifest, and the process that loaded it crashed (SIGSEGV)"), "{said}");
    assert!(said.contains("only.so   c_plugin"), "{said}");
}

#[test]
fn libraries_of_paddle_are_loaded_first() {
    let site = folder().join("site");
    fs::create_dir_all(site.join("paddle/base")).expect("the folder is writable");
    fs::create_dir_all(site.join("paddle/version")).expect("the folder is writable");
    fs::write(site.join("paddle/__init__.py"), "").expect("the folder is writable");
    fs::write(site.join("paddle/version/__init__.py"), "full_version    = '3.3.1'\n")
        .expect("it is writable");
    let defines = common::root().join("tools/cli/tests/doctor/driver.c");
    let libpaddle = site.join("paddle/base/libpaddle.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&libpaddle).arg(&defines).status();
    assert!(made.expect("`cc` is installed").success());
    let known = plugin("calls", &["-DFAULT_UNDEFINED"]);
    let foreign = replaced(&known, "calls-foreign.so", b"Tenon\0", b"Other\0");
    let run = |python: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
        command.arg("matrix").arg(&foreign).args(["--paddle", python]).env("PYTHONPATH", &site);
        let output = command.output().expect("the command starts");
        (output.status.code(), common::text(&output))
    };
    let (code, said) = run("python3");
    assert!(code == Some(0) && said.contains("no manifest; it was loaded"), "{said}");
    let (code, said) = matrix(&[&foreign], &[]);
    assert!(code == Some(1) && said.contains("undefined symbol: npu_open"), "{said}");
    let (code, said) = run("/no/such/python");
    assert!(code == Some(1) && said.contains("cannot be started"), "{said}");
}

#[test]
fn damaged_file_is_explained() {
    let plugin = plugin("sound", &[]);
    let bytes = fs::read(&plugin).expect("the plugin was made");
    let written = |name: &str, bytes: &[u8]| {
        let file = folder().join(name);
        fs::write(&file, bytes).expect("the folder is writable");
        file
    };
    let riscv = |file: &Path, name: &str| {
        let mut bytes = fs::read(file).expect("the plugin was made");
        // The field `e_machine`: 243 is RISC-V.
        bytes[18..20].copy_from_slice(&243_u16.to_ne_bytes());
        written(name, &bytes)
    };
    let mut narrow = bytes.clone();
    // The class of the file: 32 bits.
    narrow[4] = 1;
    for (file, part) in [
        (folder().join("absent.so"), "cannot read it: No such file"),
        (written("text.so", b"no library"), "it is not a library for 64-bit Linux"),
        (written("empty.so", b""), "it is not a library for 64-bit Linux"),
        (written("narrow.so", &narrow), "it is not a library for 64-bit Linux"),
        (written("short.so", &bytes[..bytes.len() / 2]), "its file is damaged"),
        (replaced(&plugin, "json.so", b"{\"manifest\":1,", b"{\"manifest\":1;"), "its manifest is damaged"),
        (replaced(&plugin, "none.so", b"\"since\"", b"\"sinse\""), "damaged: it has no oldest release"),
        (replaced(&plugin, "newer.so", b"{\"manifest\":1,", b"{\"manifest\":7,"), "has version 7, and this"),
        (riscv(&replaced(&plugin, "other.so", b"Tenon\0", b"Other\0"), "riscv.so"), "machine cannot load it"),
    ] {
        let row = row(&file, 1);
        let problem = row["problem"].as_str().unwrap_or_default();
        assert!(problem.contains(part), "{}: `{part}` is not in `{problem}`", file.display());
        assert_eq!((&row["source"], support(&row)), (&"nothing".into(), vec!["unknown"; 5]));
    }
    let other = riscv(&plugin, "manifest-of-riscv.so");
    assert_eq!((&row(&other, 0)["architecture"], &row(&other, 0)["native"]), (&"riscv64".into(), &18.into()));
    let (code, said) = matrix(&[&other], &["--conformance"]);
    assert!(code == Some(1) && said.contains("it is for another architecture"), "{said}");
}

#[test]
fn conformance_is_tested_in_each_release() {
    let sound = plugin("tested", &["-DTENON_DEVICE_SINCE=3_3"]);
    let failing = plugin("failing", &["-DTENON_DEVICE_SINCE=3_3", "-DFAULT_CRASHES"]);
    let (code, said) = matrix(&[&sound, &failing], &["--conformance", "--markdown"]);
    assert_eq!(code, Some(1), "{said}");
    let line = |name: &str| said.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("tested.so").contains("| loads | loads | loads | loads | passed "), "{said}");
    assert!(line("| failing.so").contains("| loads | not tested |"), "{said}");
    assert!(said.contains("failing.so, 3.3: "), "{said}");
    assert_eq!(matrix(&[&sound], &["--conformance"]).0, Some(0));
}
