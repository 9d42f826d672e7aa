//! `tenon report`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::text;

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder is writable");
    folder
}

fn report(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.arg("report").args(arguments).current_dir(folder).env("TENON_CPU_DEVICES", "3");
    command.output().expect("the command was just built")
}

#[test]
fn report_has_all_parts_and_no_private_path() {
    let folder = folder("parts");
    let plugin = common::compile("examples/c-plugin/plugin.c", "libreported");
    let plugin = plugin.to_str().expect("the path is UTF-8");
    fs::write(folder.join("tenon-trace-7.json"), "[\n{}\n]\n").expect("the folder is writable");
    let output = report(&folder, &[plugin]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).starts_with("wrote tenon-report.md"), "{}", text(&output));
    let written = fs::read_to_string(folder.join("tenon-report.md")).expect("the report was written");
    for part in [
        "# Report of tenon ",
        "- architecture: ",
        "    TENON_CPU_DEVICES=3\n",
        "## tenon doctor …/libreported.so\n",
        "the device type `c_plugin`",
        "## tenon check …/libreported.so\n",
        " 0 failed",
        "## tenon trace summary tenon-trace-7.json\n",
    ] {
        assert!(written.contains(part), "no {part:?} in\n{written}");
    }
    let private = env!("CARGO_TARGET_TMPDIR");
    assert!(!written.contains(private), "{private} is in\n{written}");
    let output = report(&folder, &[plugin, "--paths", "--output", "full.md"]);
    assert!(output.status.success(), "{}", text(&output));
    let written = fs::read_to_string(folder.join("full.md")).expect("the report was written");
    assert!(written.contains(plugin), "{written}");
}

#[test]
fn report_tells_of_a_plugin_that_cannot_be_loaded() {
    let folder = folder("missing");
    let output = report(&folder, &["./libnone.so"]);
    assert!(output.status.success(), "{}", text(&output));
    let written = fs::read_to_string(folder.join("tenon-report.md")).expect("the report was written");
    assert!(written.contains("There is 1 problem."), "{written}");
    assert!(written.contains("It ended with exit status: 2."), "{written}");
}

#[test]
fn existing_file_is_not_replaced() {
    let folder = folder("existing");
    fs::write(folder.join("tenon-report.md"), "mine").expect("the folder is writable");
    let output = report(&folder, &["./libnone.so"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("`tenon-report.md` exists already"), "{}", text(&output));
    assert_eq!(fs::read_to_string(folder.join("tenon-report.md")).expect("it is still there"), "mine");
}
