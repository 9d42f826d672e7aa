//! Plugins in C, and runs of the command.
#![allow(dead_code, reason = "no test uses all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn root() -> &'static Path {
    // The crate lies in the workspace's root.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace is two folders above")
}

/// Compiles a plugin into a library of this name.
pub fn compile(source: &str, name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    compiler("cc", &["-std=c11", "-shared"], &[&root().join(source)], &library);
    library
}

/// Compiles a plugin in C++ into a library of this name.
pub fn compile_cpp(source: &str, name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    compiler("c++", &["-std=c++17", "-shared"], &[&root().join(source)], &library);
    library
}

/// Compiles a plugin whose second part is in C++.
pub fn compile_with_cpp(source: &str, cpp: &str, name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let object = library.with_extension("o");
    compiler("cc", &["-std=c11", "-fexceptions", "-c"], &[&root().join(source)], &object);
    compiler("c++", &["-std=c++17", "-shared"], &[&object, &root().join(cpp)], &library);
    library
}

fn compiler(name: &str, flags: &[&str], inputs: &[&Path], output: &Path) {
    let output = Command::new(name)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-fPIC"])
        .args(flags)
        .arg("-I")
        .arg(root().join("sdk-c/include"))
        .args(inputs)
        .arg("-o")
        .arg(output)
        .args(["-lpthread", "-ldl"])
        .output()
        .unwrap_or_else(|_| panic!("`{name}` is not installed: apt-get install gcc g++ libc6-dev"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns true if a process has started another one.
pub fn has_child(process: u32) -> bool {
    let path = format!("/proc/{process}/task/{process}/children");
    std::fs::read_to_string(path).is_ok_and(|children| !children.trim().is_empty())
}

/// Creates a `tenon check` command without arguments.
pub fn check() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.arg("check").env_remove("FAULT");
    command
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
