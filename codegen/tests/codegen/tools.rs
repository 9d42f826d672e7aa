//! Programs that tests start. An error about a missing program shows how to install it.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

use codegen::import::clang::{ReadError, ReadOptions, Unit};

/// Returns the command that installs a program.
fn install(program: &str) -> &'static str {
    match program {
        "clang" | "clang++" => "apt-get install clang",
        "python3" => "apt-get install python3",
        "libclang.so" => "apt-get install libclang1",
        _ => "apt-get install gcc g++",
    }
}

/// Runs a command; fails with the name of its program if that is not installed.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        let program = command.get_program().to_string_lossy();
        match error.kind() {
            ErrorKind::NotFound => panic!("`{program}` is not installed: {}", install(&program)),
            _ => panic!("cannot start `{program}`: {error}"),
        }
    })
}

/// Returns true if a program is installed. Without it, the test is skipped if `cargo xtask test` permits that,
/// and fails otherwise.
pub fn has(program: &str, test: &str) -> bool {
    let is_here = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    is_here || skips(program, test)
}

/// Does the same as `has` for the library that reads C headers.
pub fn has_libclang(test: &str) -> bool {
    let parsed = Unit::parse(Path::new("empty.c"), "", &ReadOptions::default());
    !matches!(parsed, Err(ReadError::NoLibclang)) || skips("libclang.so", test)
}

/// Lists a test as skipped, and returns false; fails if tests must not be skipped.
fn skips(missing: &str, test: &str) -> bool {
    assert!(
        tenon_testing::leave_out(missing, test),
        "`{missing}` is not installed: {}; `cargo xtask test` fetches it",
        install(missing)
    );
    false
}
