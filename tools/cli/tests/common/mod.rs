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
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-shared", "-fPIC", "-I"])
        .arg(root().join("sdk-c/include"))
        .arg(root().join(source))
        .arg("-o")
        .arg(&library)
        .arg("-lpthread")
        .output()
        .unwrap_or_else(|_| panic!("`cc` is not installed: apt-get install gcc libc6-dev"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// `tenon check`, to be given arguments.
pub fn check() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.arg("check").env_remove("FAULT");
    command
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
