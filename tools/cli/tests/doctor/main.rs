//! Broken plugins and set-ups, and what the doctor says about each.

mod setup;

use std::fs;
use std::path::Path;

use setup::{FAKE_PADDLE, Setup};

/// A fault of `plugin.c`, and a part of what the doctor says.
const FAULTS: [(&str, &str); 10] = [
    ("NO_ENTRY", "does not export `InitPlugin`"),
    ("DECLINES", "declined every table that it was offered"),
    ("NO_TYPE", "left the device type null"),
    ("NO_FUNCTION", "lacks what a host needs to load it: `set_device`"),
    ("CRASHES", "crashed (SIGSEGV) while it was loaded"),
    ("CRASHES_LATER", "crashed (SIGSEGV) in `initialize` or `get_device_count`"),
    ("ENDS", "ended with exit status 3 while it was loaded"),
    ("NO_DRIVER", "it does not start: `initialize` answered failed"),
    ("NO_DEVICE", "it reports no device"),
    ("UNDEFINED", "undefined symbol: npu_open"),
];

#[test]
fn broken_plugin_is_explained() {
    let setup = Setup::new("faults");
    for (fault, part) in FAULTS {
        let said = setup.doctor().plugin(&setup.plugin(fault)).refused();
        assert!(said.contains(part), "{fault}: `{part}` is not in:\n{said}");
    }
}

#[test]
fn sound_plugin_has_no_problem() {
    let setup = Setup::new("sound");
    let plugin = setup.plugin("NOTHING");
    let said = setup.doctor().plugin(&plugin).accepted();
    assert!(said.contains("the device type `broken`, with "), "{said}");
    assert!(said.contains("2 devices") && said.ends_with("No problem was found.\n"), "{said}");
}

#[test]
fn file_that_is_no_library_for_this_system_is_explained() {
    let setup = Setup::new("files");
    let bytes = fs::read(setup.plugin("NOTHING")).unwrap();
    let mut other_processor = bytes.clone();
    // The field `e_machine`: 8 is MIPS.
    other_processor[18..20].copy_from_slice(&8_u16.to_ne_bytes());
    let newer_glibc = replaced(&bytes, b"GLIBC_2.", b"GLIBC_9.");
    for (name, bytes, part) in [
        ("text.so", b"no library".to_vec(), "cannot load"),
        ("short.so", bytes[..bytes.len() / 2].to_vec(), "is incomplete: it has "),
        ("processor.so", other_processor, "it is a library for Mips"),
        ("glibc.so", newer_glibc, "it needs glibc 9."),
    ] {
        let file = setup.path(name);
        fs::write(&file, bytes).unwrap();
        let said = setup.doctor().plugin(&file).refused();
        assert!(said.contains(part), "{name}: `{part}` is not in:\n{said}");
    }
    for (name, bytes, part) in [
        (
            "lfs.so",
            &b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 15\n"[..],
            "git lfs pull",
        ),
        ("page.so", b"<!DOCTYPE html><html>404</html>\n", "It is a web page"),
        ("empty.so", b"", "It is empty"),
        ("archive.so", b"!<arch>\n", "It is a static archive"),
        ("wheel.so", b"PK\x03\x04", "install it with pip"),
        ("object.so", &[&bytes[..16], &[1, 0], &bytes[18..]].concat(), "It is an object file"),
    ] {
        let file = setup.path(name);
        fs::write(&file, bytes).unwrap();
        let said = setup.doctor().plugin(&file).refused();
        assert!(said.contains(part), "{name}: `{part}` is not in:\n{said}");
    }
    let said = setup.doctor().plugin(&setup.path("absent.so")).refused();
    assert!(said.contains("there is no file"), "{said}");
}

/// Replaces a text by another one of the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn folder_that_paddle_searches_is_explained() {
    let setup = Setup::new("folders");
    let empty = setup.folder("empty");
    let versioned = setup.folder("versioned");
    fs::write(versioned.join("libnpu.so.1"), "").unwrap();
    let file = setup.path("file");
    fs::write(&file, "").unwrap();
    let two = format!("{}:{}", empty.display(), versioned.display());
    for (root, part) in [
        (String::new(), "is set to nothing"),
        ("/no/such/folder".to_owned(), "there is no such folder"),
        (two, "does not split it at colons"),
        (file.display().to_string(), "that is not a folder"),
        (empty.display().to_string(), "no file with the ending `.so`"),
        (versioned.display().to_string(), "`libnpu.so.1` has another ending"),
    ] {
        let said = setup.doctor().paddle("3.3.1").env("CUSTOM_DEVICE_ROOT", &root).refused();
        assert!(said.contains(part), "{root}: `{part}` is not in:\n{said}");
    }
    let said = setup.doctor().paddle("3.3.1").refused();
    assert!(said.contains("no plugin is installed") && said.contains("does not exist"), "{said}");
    setup.folder("site/paddle-plugins");
    let said = setup.doctor().paddle("3.3.1").refused();
    assert!(said.contains("is the folder of releases before 2.5"), "{said}");
}

#[test]
fn python_without_paddle_is_explained() {
    let setup = Setup::new("pythons");
    for (python, part) in [
        ("/no/such/python", "cannot be started"),
        ("/bin/true", "is not a Python"),
        ("python3", "has no PaddlePaddle"),
    ] {
        let said = setup.doctor().option("--paddle", python).env("PYTHONPATH", "").refused();
        assert!(said.contains(part), "{python}: `{part}` is not in:\n{said}");
    }
}

#[test]
fn installed_plugin_is_compared_with_the_list_of_paddle() {
    let setup = Setup::new("listed");
    setup.install("NOTHING", "libone.so");
    let said = setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, r#"["broken"]"#).accepted();
    assert!(said.contains("`import paddle` works and lists `broken`"), "{said}");
    let said = setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, "[]").refused();
    assert!(said.contains("does not list `broken` of `libone.so`: Skipped libone.so"), "{said}");
    let named = setup.path("site/paddle_custom_device/libone.so");
    let said = setup.doctor().plugin(&named).paddle("3.3.1").env(FAKE_PADDLE, "[]").refused();
    assert!(said.contains("does not list `broken` of `libone.so`"), "{said}");
    let said = setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, "not JSON").refused();
    assert!(said.contains("`import paddle` ended with exit status 1:"), "{said}");
    setup.install("NOTHING", "libtwo.so");
    let said = setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, r#"["broken"]"#).refused();
    assert!(said.contains("libone.so` has the device type `broken` too"), "{said}");
}

#[test]
fn plugin_for_another_release_is_explained() {
    let setup = Setup::new("releases");
    setup.install("ONLY_3_3", "libnpu.so");
    setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, r#"["broken"]"#).accepted();
    let said = setup.doctor().paddle("3.0.0").env(FAKE_PADDLE, r#"["broken"]"#).refused();
    assert!(said.contains("it was built for PaddlePaddle 3.3, and this is 3.0.0"), "{said}");
    assert!(said.contains("take the plugin's build for PaddlePaddle 3.0"), "{said}");
    setup.install("CALLS_PADDLE", "libnpu.so");
    let said = setup.doctor().paddle("3.3.1").env(FAKE_PADDLE, r#"["broken"]"#).refused();
    assert!(said.contains("PaddlePaddle 3.3.1 does not have `PD_NoSuchFunction`"), "{said}");
    let said = setup.doctor().paddle("2.4.2").env(FAKE_PADDLE, r#"["broken"]"#).refused();
    assert!(said.contains("none of the releases whose table Tenon knows: 2.6 to 3.3"), "{said}");
}

#[test]
fn library_that_is_missing_is_named() {
    let setup = Setup::new("libraries");
    let plugin = setup.plugin_that_needs_a_library("libdriver.so");
    setup.doctor().plugin(&plugin).accepted();
    fs::remove_file(setup.path("libdriver.so")).unwrap();
    let said = setup.doctor().plugin(&plugin).refused();
    assert!(said.contains("libdriver.so: cannot open shared object file"), "{said}");
    assert!(said.contains("Set LD_LIBRARY_PATH to the folder of `libdriver.so`"), "{said}");
}

#[test]
fn library_for_another_c_library_is_named() {
    let setup = Setup::new("musl");
    let plugin = setup.plugin_that_needs_a_library("libc.musl-x86_64.so.1");
    fs::remove_file(setup.path("libc.musl-x86_64.so.1")).unwrap();
    let said = setup.doctor().plugin(&plugin).refused();
    assert!(said.contains("built for the C library musl, as of Alpine Linux"), "{said}");
}

#[test]
fn pipe_that_paddle_would_wait_for_is_named() {
    let setup = Setup::new("pipe");
    let folder = setup.folder("plugins");
    tenon_testing::make_pipe(&folder.join("libpipe.so"));
    let root = folder.display().to_string();
    let said = setup.doctor().paddle("3.3.1").env("CUSTOM_DEVICE_ROOT", &root).refused();
    assert!(said.contains("it is a named pipe, and not a file: PaddlePaddle would wait for it"), "{said}");
    assert!(said.contains("not tried, because it would open a file that is none"), "{said}");
}

#[test]
fn json_has_the_findings() {
    let setup = Setup::new("json");
    let plugin = setup.plugin("NO_DEVICE");
    let said = setup.doctor().plugin(&plugin).flag("--json").refused();
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(value["problems"], 1);
    assert_eq!(value["sections"][0]["title"].as_str().map(Path::new), Some(plugin.as_path()));
    assert_eq!(value["sections"][0]["findings"][0]["severity"], "problem");
}

#[test]
fn onnxruntime_that_cannot_work_is_explained() {
    const PACKAGE: &str = "site/onnxruntime/__init__.py";
    for (name, file, text, expected) in [
        ("none", "site/other.py", "", "it has no ONNX Runtime"),
        ("old", PACKAGE, "__version__ = '1.22.1'", "ONNX Runtime 1.22.1 registers no libraries of providers"),
        (
            "broken",
            PACKAGE,
            "import absent",
            "`import onnxruntime` fails: ModuleNotFoundError: No module named 'absent'",
        ),
        (
            "exits",
            PACKAGE,
            "import os; os.abort()",
            "it does not say which packages it has: it aborted (SIGABRT)",
        ),
        ("hidden", "site/onnxruntime.py", "", "site/onnxruntime.py` is not the package of ONNX Runtime"),
        ("empty", PACKAGE, "__version__ = '1.32.0'", "no package of this Python contains a provider"),
    ] {
        let setup = Setup::new(name);
        setup.write(file, text);
        let said = setup.doctor().onnxruntime().refused();
        assert!(said.contains(expected), "{name}: {said}");
        assert!(said.contains("There is 1 problem."), "{name}: {said}");
    }
}

#[test]
fn packages_that_overwrite_each_other_are_named() {
    let setup = Setup::new("two_packages");
    setup.write("site/onnxruntime/__init__.py", "__version__ = '1.23.2'");
    for name in ["onnxruntime", "onnxruntime_gpu"] {
        let folder = format!("site/{name}-1.23.2.dist-info");
        setup.write(
            &format!("{folder}/METADATA"),
            &format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.23.2\n"),
        );
        setup.write(&format!("{folder}/RECORD"), "onnxruntime/__init__.py,,\n");
    }
    let said = setup.doctor().onnxruntime().refused();
    assert!(said.contains("onnxruntime 1.23.2"), "{said}");
    assert!(said.contains("onnxruntime_gpu 1.23.2"), "{said}");
    assert!(said.contains("share the folder `onnxruntime`"), "{said}");
    assert!(said.contains("note     most providers need a newer release"), "{said}");
}

#[test]
fn interpreter_that_is_none_is_explained() {
    let setup = Setup::new("no_interpreter");
    let said = setup.doctor().option("--onnxruntime", "/absent/python").refused();
    assert!(said.contains("it cannot be started") && said.contains("--onnxruntime PYTHON"), "{said}");
    let said = setup.doctor().option("--onnxruntime", "false").refused();
    assert!(said.contains("it does not say which packages it has: it ended with exit status 1"), "{said}");
}
