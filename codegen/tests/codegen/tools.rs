//! Programs that tests start. An error about a missing program shows how to install it.

use std::io::ErrorKind;
use std::process::{Command, Output};

/// Returns the command that installs a program.
fn install(program: &str) -> &'static str {
    match program {
        "clang" | "clang++" => "apt-get install clang",
        "python3" => "apt-get install python3",
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
    if Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return true;
    }
    assert!(
        tenon_testing::leave_out(program, test),
        "`{program}` is not installed: {}; `cargo xtask test` fetches it",
        install(program)
    );
    false
}
