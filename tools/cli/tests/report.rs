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

#[test]
fn values_of_secrets_and_relative_folders_are_left_out() {
    let folder = folder("secrets");
    fs::create_dir_all(folder.join("acme-client")).expect("the folder is writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    let output = command
        .args(["report", "acme-client/libnone.so"])
        .current_dir(&folder)
        .env("TENON_TOKEN", "hunter2a")
        .env("FLAGS_api_key", "hunter2b")
        .env("PADDLE_PASSWORD", "hunter2c")
        .env("PADDLE_TRAINER_ENDPOINTS", "10.1.2.3:6170")
        .env("TENON_PLUGIN_PATH", "acme-client/hunter2d:/srv/hunter2e")
        .env("TENON_INDEX", "https://anna:hunter2f@files.example/simple")
        // Not shown, but outputs of a plugin may contain it.
        .env("OTHER_SECRET", "libnone")
        .env("FLAGS_allocator_strategy", "auto_growth")
        .output()
        .expect("the command was just built");
    assert!(output.status.success(), "{}", text(&output));
    let written = fs::read_to_string(folder.join("tenon-report.md")).expect("the report was written");
    for private in ["hunter2", "10.1.2.3", "acme-client", "anna"] {
        assert!(!written.contains(private), "{private} is in\n{written}");
    }
    assert!(!written.contains("libnone"), "a secret is in\n{written}");
    for part in [
        "    TENON_TOKEN=(left out)\n",
        "    TENON_PLUGIN_PATH=…:…\n",
        "    FLAGS_allocator_strategy=auto_growth\n",
    ] {
        assert!(written.contains(part), "no {part:?} in\n{written}");
    }
}

#[test]
fn failed_or_stopped_report_leaves_no_file() {
    let folder = folder("failed");
    let pipe = folder.join("libnpu.so");
    tenon_testing::make_pipe(&pipe);
    let output = report(&folder, &["./libnpu.so", "--output", "absent/report.md"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("`absent/report.md` cannot be written"), "{}", text(&output));
    // A plugin that never answers: the report is stopped meanwhile.
    let slow = folder.join("slow.c");
    fs::write(
        &slow,
        "#include <unistd.h>\n__attribute__((constructor)) static void wait(void) { pause(); }\n",
    )
    .expect("the folder is writable");
    let library = folder.join("libslow.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&slow).status();
    assert!(made.expect("`cc` is installed").success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    let mut child = command.args(["report", "./libslow.so"]).current_dir(&folder).spawn().expect("it starts");
    while !common::has_child(child.id()) {
        std::thread::yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(!folder.join("tenon-report.md").exists());
}
