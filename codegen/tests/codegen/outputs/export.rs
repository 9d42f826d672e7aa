//! An export with several headers and a Python package: checks the outputs, and that they work.
//!
//! `export/` has the spec, the expected outputs, the library in C, and the program that calls it from Python.
//! `UPDATE_EXPECT=1` updates the expected outputs; review them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::specs::write;

use crate::{data, root};

fn here() -> PathBuf {
    data("export")
}

fn run(command: &mut Command) -> String {
    let output = crate::tools::output(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} fails with {}:\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_outputs_are_as_expected() {
    super::assert_expected(&here());
}

#[test]
fn a_python_program_calls_the_library() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export");
    let (files, target) = super::outputs(&here(), &folder);
    write(&files, &target, &folder);
    let library = folder.join("libkit.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"]);
    run(compiler.arg(folder.join("include")).arg(here().join("kit.c")).arg("-o").arg(&library));

    // Files that are written by hand beside the generated modules. `_call.py` is that of the repository's own package.
    let python = folder.join("python");
    let call = root().join("sdk-py/src/acl/_call.py");
    let call = std::fs::read_to_string(call).expect("the package is part of the repository");
    let write = |path: &str, text: &str| {
        let path = python.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    };
    write("kit/_call.py", &call);
    write("kit/_message.py", "def leave(message):\n    pass\n");
    write("kit/_hand/__init__.py", "");
    write("kit/_hand/kit.py", "def visit(*args):\n    return args\n");
    write("kit/bench.py", "BY_HAND = True\n");
    let bind = "import ctypes\nimport os\n\nLIBRARY = ctypes.CDLL(os.environ['KIT_LIBRARY'])\n\n\n\
                def bind_acl(symbol, *argtypes, restype=ctypes.c_int):\n    function = LIBRARY[symbol]\n    \
                function.argtypes = argtypes\n    function.restype = restype\n    return function\n";
    write("tenon/_native/library.py", bind);
    let mut program = Command::new("python3");
    program.arg(here().join("kit_test.py")).env("PYTHONPATH", &python).env("KIT_LIBRARY", &library);
    assert_eq!(run(&mut program), "done\n");
}
