//! The Python bindings: checks their text, and that each function of the headers has the same types as in
//! C.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::specs::project;
use crate::{data, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

/// Checks the committed outputs of the spec in `python/`, which has a function for each way of passing a parameter.
#[test]
fn each_way_of_passing_a_parameter_looks_as_it_should() {
    let spec = data("python/spec");
    let output = Command::new(env!("CARGO_BIN_EXE_codegen")).arg("--check").arg("--spec").arg(spec).output();
    let output = output.expect("the command was built with this test");
    let [said, failed] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{said}{failed}");
}

/// Runs the commands of the example's README: a library in C, called through its generated package.
#[test]
fn package_calls_a_library_and_raises_its_failures() {
    let example = root().join("examples/custom-spec");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain-package");
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let library = folder.join("libsensor_log.so");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(example.join("include"))
        .arg(example.join("library/log.c"))
        .arg("-o")
        .arg(&library)
        .status();
    assert!(compiled.expect("there is a C compiler").success());
    let python = |arguments: &[&str], library: &Path| {
        let output = Command::new("python3")
            .args(arguments)
            .current_dir(&example)
            .env("PYTHONPATH", example.join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SENSOR_LOG_LIBRARY", library)
            .output()
            .expect("there is a Python");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let [said, failed] = python(&["library/measure.py"], &library);
    let expected = "21.0\nmean: BUS_BAD_ARGUMENT: The caller made an error.\nTrue\n";
    assert_eq!(said, expected, "{failed}");

    // Each mistake of a caller, and what it raises.
    let mistakes = [
        ("mean(-1)", "OverflowError: -1 is not in the range from 0 to 4294967295"),
        ("mean('one')", "TypeError: fieldwork_log_mean: argument 1"),
        ("mean()", "TypeError: mean() missing 1 required positional argument: 'sensor'"),
        ("append(1, [{'time': 1}])", "TypeError: there is no `time` in Sample"),
        ("append(9, [])", "sensor_log.Error: append: BUS_BAD_ARGUMENT"),
    ];
    for (call, error) in mistakes {
        let [_, failed] = python(&["-c", &format!("import sensor_log; sensor_log.{call}")], &library);
        assert!(failed.contains(error), "{call}: {failed}");
    }
    let [_, failed] = python(&["-c", "import sensor_log"], Path::new("/nonexistent/libsensor_log.so"));
    assert!(failed.contains("the environment variable SENSOR_LOG_LIBRARY names another file"), "{failed}");
}

/// Parses result and parameters of each function of a header, without names and `const`.
fn prototypes(header: &str) -> BTreeMap<String, (String, Vec<String>)> {
    let mut prototypes = BTreeMap::new();
    // Outside of comments, a line that begins a declaration starts with its type.
    let code: Vec<&str> =
        header.lines().filter(|line| !line.trim_start().starts_with(['*', '/', '#'])).collect();
    for declaration in code.join(" ").split(';') {
        let Some((head, params)) = declaration.split_once('(') else { continue };
        let Some((result, name)) = head.trim().rsplit_once(' ') else { continue };
        if declaration.contains("typedef") || !name.starts_with("tenon_") {
            continue;
        }
        let result = result.rsplit(['{', '}']).next().unwrap_or(result);
        let bare = |text: &str| text.replace("const ", "").trim().to_owned();
        let params = params.trim_end_matches(')').split(',').map(bare).filter(|param| param != "void");
        let typed = params.map(|param| {
            let name = param.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |index| index + 1);
            param[..name].replace(' ', "")
        });
        prototypes.insert(name.to_owned(), (bare(result).replace(' ', ""), typed.collect()));
    }
    prototypes
}

/// Parses result and parameters of each function that a module binds.
fn bound(module: &str) -> BTreeMap<String, (String, Vec<String>)> {
    // Without the name of ctypes in the module.
    let code: String = module.replace("_C.", "").lines().map(str::trim).collect();
    let calls = code.split("= _Library.bind(").skip(1).map(|rest| {
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let items = rest[..end.expect("a bracket is closed")].split(',').map(str::trim);
        let mut items: Vec<&str> = items.filter(|item| !item.is_empty()).collect();
        let name = items.remove(0).trim_matches('"').to_owned();
        let result = items.last().and_then(|item| item.strip_prefix("restype=")).map(str::to_owned);
        items.truncate(items.len() - usize::from(result.is_some()));
        let result = result.unwrap_or_else(|| "c_int".to_owned());
        (name, (result, items.into_iter().map(str::to_owned).collect()))
    });
    calls.collect()
}

/// Returns true if a type of ctypes is that of C.
fn fits(c: &str, python: &str) -> bool {
    const PLAIN: &[(&str, &str)] = &[
        ("bool", "c_bool"),
        ("char*", "c_char_p"),
        ("double", "c_double"),
        ("float", "c_float"),
        ("int", "c_int"),
        ("int32_t", "c_int32"),
        ("size_t", "c_size_t"),
        ("tenon_capture_mode", "c_int"),
        ("tenon_capture_status", "c_int"),
        ("tenon_data_type", "c_int"),
        ("tenon_reduce_op", "c_int"),
        ("tenon_status", "c_int"),
        ("uint8_t", "c_uint8"),
        ("uint32_t", "c_uint32"),
        ("int64_t", "c_int64"),
        ("uint64_t", "c_uint64"),
        ("unsignedlonglong", "c_ulonglong"),
        ("void*", "c_void_p"),
        ("tenon_stream_callback", "StreamCallback"),
    ];
    // The caller's memory is passed as an address, also if text is written to it.
    if PLAIN.contains(&(c, python)) || (c, python) == ("char*", "c_void_p") {
        return true;
    }
    if let (Some(c), Some(python)) =
        (c.strip_suffix('*'), python.strip_prefix("POINTER(").and_then(|python| python.strip_suffix(')')))
    {
        return fits(c, python) || c.replace('_', "") == format!("tenon{}", python.to_lowercase());
    }
    // The remaining types are handles.
    c.starts_with("tenon_") && !c.ends_with('*') && python == "c_void_p"
}

#[test]
fn each_function_of_the_headers_is_bound_with_the_types_of_c() {
    let spec = project();
    let functions = &spec.interface("device").expect("the spec has it").functions;
    for (header, module, number) in [("functions", "functions", functions.len()), ("core", "core", 41)] {
        let prototypes = prototypes(&read(&format!("sdk-c/include/tenon/{header}.h")));
        let bound = bound(&read(&format!("sdk-py/src/tenon/_native/{module}.py")));
        assert_eq!(prototypes.len(), number, "in `{header}.h`");
        assert_eq!(prototypes.keys().collect::<Vec<_>>(), bound.keys().collect::<Vec<_>>());
        for (name, (result, params)) in prototypes {
            let (restype, argtypes) = &bound[&name];
            assert!(fits(&result, restype), "`{name}` answers `{result}`, and not `{restype}`");
            assert_eq!(params.len(), argtypes.len(), "`{name}` takes {params:?}, and not {argtypes:?}");
            for (param, argtype) in params.iter().zip(argtypes) {
                assert!(fits(param, argtype), "`{name}` takes `{param}`, and not `{argtype}`");
            }
        }
    }
}
