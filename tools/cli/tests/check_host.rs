//! Plugins that expect symbols of PaddlePaddle, which a small library plays here.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{check, root, text};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host").join(name);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

fn compile(compiler: &str, arguments: &[&str], source: &Path, to: &Path) {
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wl,-z,lazy", "-Wl,--no-as-needed"])
        .arg(source)
        .args(arguments)
        .arg("-o")
        .arg(to)
        .output()
        .expect("a C and a C++ compiler are installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a shell script with the given command.
fn script(name: &str, command: &str) -> PathBuf {
    let (text, script) = (folder("scripts").join(name), folder("bin").join(name));
    std::fs::write(&text, format!("#!/bin/sh\n{command}\n")).expect("as above");
    tenon_testing::install(&text, &script);
    script
}

/// Returns a Python whose package `paddle` has the stand-in.
fn python() -> (PathBuf, PathBuf) {
    static MADE: std::sync::OnceLock<(PathBuf, PathBuf)> = std::sync::OnceLock::new();
    let make = || {
        let [base, libs] = ["site/paddle/base", "site/paddle/libs"].map(folder);
        let package = folder("site/paddle");
        // It is found and not imported.
        std::fs::write(package.join("__init__.py"), "raise ImportError('this is a stand-in')\n")
            .expect("as above");
        let common = package.join("common.c");
        std::fs::write(&common, "int PD_CommonVersion(void) { return 33; }\n").expect("as above");
        let libcommon = libs.join("libcommon.so");
        compile("cc", &["-Wl,-soname,libcommon.so"], &common, &libcommon);
        let libpaddle = base.join("libpaddle.so");
        let source = root().join("tools/cli/tests/common/paddle.cc");
        compile("c++", &["-Wl,-soname,libpaddle.so", &libcommon.to_string_lossy()], &source, &libpaddle);
        let path = folder("site");
        let script = script("python", &format!("PYTHONPATH='{}' exec python3 \"$@\"", path.display()));
        (script, libpaddle)
    };
    MADE.get_or_init(make).clone()
}

/// Returns the plugin of the examples with kernels in C++.
fn plugin(name: &str, arguments: &[&str]) -> PathBuf {
    let folder = folder("plugins");
    let (object, library) = (folder.join(format!("{name}.o")), folder.join(format!("{name}.so")));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-c", "-fPIC", "-I"])
        .arg(root().join("sdk-c/include"))
        .arg(root().join("examples/c-plugin/plugin.c"))
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C compiler is installed");
    assert!(compiled.success());
    let kernels = root().join("tools/cli/tests/common/kernels.cc");
    let object = object.to_string_lossy();
    compile("c++", &[&[&*object], arguments].concat(), &kernels, &library);
    library
}

fn run(library: &Path, host: Option<&Path>) -> (Option<i32>, String) {
    let mut command = check();
    command.arg(library).args(["--filter", "memory.allocate", "--level", "required"]);
    if let Some(host) = host {
        command.arg("--host").arg(host);
    }
    let output = command.output().expect("the command runs");
    // An error is wrapped for the terminal.
    let text = text(&output);
    (
        output.status.code(),
        text.lines().map(|line| line.trim_start_matches([' ', '│'])).collect::<Vec<_>>().join(" "),
    )
}

#[test]
fn functions_of_the_host_may_stay_open() {
    let library = plugin("functions", &[]);
    let (code, text) = run(&library, None);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("`PD_Version` of PaddlePaddle not loaded"), "{text}");
    let (code, text) = run(&library, Some(&python().0));
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("not loaded"), "{text}");
}

#[test]
fn data_of_the_host_needs_the_host() {
    let library = plugin("data", &["-DDATA"]);
    let (code, text) = run(&library, None);
    assert_eq!(code, Some(2), "{text}");
    for part in ["_ZTIN3phi6KernelE", "is PaddlePaddle's", "such as a vtable", "--host PYTHON"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let (code, text) = run(&library, Some(&python().0));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_function_that_is_called_at_once_needs_the_host() {
    let library = plugin("early", &["-DEARLY"]);
    let (code, text) = run(&library, None);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("the plugin called `PD_Version`") && text.contains("--host PYTHON"), "{text}");
    let (code, text) = run(&library, Some(&python().0));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_plugin_that_names_the_hosts_library_needs_the_host() {
    let (python, libpaddle) = python();
    let library =
        plugin("needed", &[&libpaddle.to_string_lossy(), "-Wl,--unresolved-symbols=ignore-in-shared-libs"]);
    let (code, text) = run(&library, None);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("`libpaddle.so` is PaddlePaddle's") && text.contains("--host PYTHON"), "{text}");
    let (code, text) = run(&library, Some(&python));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_symbol_of_no_host_is_named() {
    let source = folder("plugins").join("vendor.c");
    std::fs::write(&source, "int npu_open(void); int InitPlugin(void) { return npu_open(); }\n")
        .expect("as above");
    let library = folder("plugins").join("vendor.so");
    compile("cc", &[], &source, &library);
    let (code, text) = run(&library, None);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("No library that is loaded has `npu_open`"), "{text}");
}

#[test]
fn a_python_without_paddle_is_refused() {
    let library = plugin("functions-again", &[]);
    for (python, part) in
        [("/no/python", "`/no/python` cannot be started"), ("/bin/true", "is not a Python that reports")]
    {
        let (code, text) = run(&library, Some(Path::new(python)));
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(part), "{text}");
    }
    let bare = script("bare-python", "exec python3 -I -S \"$@\"");
    let (code, text) = run(&library, Some(&bare));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("has no PaddlePaddle with a `libpaddle.so`"), "{text}");
}
