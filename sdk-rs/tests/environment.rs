//! A program with raised rights does not trust the environment that its user gave it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};

/// The user `nobody`.
const OTHER_USER: u32 = 65534;
const VARIABLE: &str = "TENON_ENVIRONMENT_TEST";

/// Prints the variable; the tests below start this test alone, in a copy of this program.
#[test]
fn print() {
    println!("read: {:?}", tenon::trusted_variable(VARIABLE));
}

fn printed(output: Output) -> String {
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn a_variable_of_an_ordinary_program_is_read() {
    let program = std::env::current_exe().unwrap();
    let output =
        Command::new(program).args(["--exact", "print", "--nocapture"]).env(VARIABLE, "x").output().unwrap();
    assert!(printed(output).contains(r#"read: Some("x")"#));
}

#[test]
fn a_variable_of_a_set_user_id_program_is_not_there() {
    let folder = empty_folder();
    let program = folder.join("set-user-id");
    tenon_testing::install(&std::env::current_exe().unwrap(), &program);
    if chown(&program, Some(OTHER_USER), None).is_err() {
        // Only root may change the owner of a file.
        assert!(
            tenon_testing::leave_out("root", "a variable of a set-user-ID program is not there"),
            "this test changes the owner of a file, which only root may do"
        );
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let output = Command::new(&program).args(["--exact", "print", "--nocapture"]).env(VARIABLE, "x").output();
    fs::remove_dir_all(folder).unwrap();
    assert!(printed(output.unwrap()).contains("read: None"));
}

fn empty_folder() -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("environment");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
