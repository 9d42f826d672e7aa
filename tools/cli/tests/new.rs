//! `tenon new`: each project builds and keeps the contract, and a refused one leaves nothing behind.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod common;

use common::{check, root, text};

/// The name of the projects. Tests of the guide build a `my-npu` in the same target folder.
const NAME: &str = "test-npu";

/// Returns an empty folder, in which the command runs.
fn empty(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new").join(name);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{}: {error}", folder.display()),
        _ => fs::create_dir_all(&folder).expect("the folder can be made"),
    }
    folder
}

fn new(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
    command.arg("new").args(arguments).current_dir(folder).output().expect("the command runs")
}

/// Makes a project, and returns its folder.
fn project(language: &str) -> PathBuf {
    project_for("paddle", language)
}

/// Makes a project for some hosts, and returns its folder.
fn project_for(hosts: &str, language: &str) -> PathBuf {
    // Projects in Rust share a target folder, in which each needs a library of its own.
    let name = if hosts == "paddle" { NAME } else { "other-npu" };
    let folder = empty(&format!("{language}-{hosts}"));
    let output = new(&folder, &[name, "--lang", language, "--host", hosts]);
    assert!(output.status.success(), "{}", text(&output));
    let device = format!("the device `{}`", name.replace('-', "_"));
    assert!(text(&output).contains(&device), "{}", text(&output));
    folder.join(name)
}

/// Returns the `PATH` with the command `tenon` first.
fn path() -> OsString {
    let folder =
        Path::new(env!("CARGO_BIN_EXE_tenon")).parent().expect("the command is in a folder").to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&rest)))
        .expect("paths have no colon")
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    text(&output)
}

/// Builds and tests a project in C or C++, with its Makefile if there is `make`.
fn keeps_the_contract(language: &str, compiler: &str, flags: &[&str]) {
    let folder = project(language);
    let has_make = Command::new("make").arg("--version").output().is_ok();
    if has_make {
        let flags = ["CFLAGS=-O1 -Werror", "CXXFLAGS=-O1 -Werror"];
        succeeds(Command::new("make").arg("check").args(flags).current_dir(&folder).env("PATH", path()));
        return;
    }
    let library = folder.join("plugin.so");
    let strict =
        ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", "-shared", "-fPIC", "-pthread", "-o"];
    succeeds(Command::new(compiler).args(strict).arg(&library).args(flags).current_dir(&folder));
    succeeds(check().arg(&library));
}

#[test]
fn project_in_c_keeps_the_contract() {
    keeps_the_contract("c", "cc", &["-std=c11", "src/device.c"]);
}

#[test]
fn project_in_cpp_keeps_the_contract() {
    keeps_the_contract("cpp", "c++", &["-std=c++17", "src/device.cpp"]);
}

/// Compiles the sources for ONNX Runtime, alone and beside PaddlePaddle. Tests in ONNX Runtime link and run such a project.
fn compiles_for_onnxruntime(language: &str, compiler: &str, standard: &str) {
    for hosts in ["onnxruntime", "paddle,onnxruntime"] {
        let folder = project_for(hosts, language);
        for source in ["device", "operators"] {
            let strict =
                ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", "-fPIC", "-o", "out.o", "-c"];
            let sdk = format!("-I{}", root().join("sdk-c/include").display());
            let source = format!("src/{source}.{language}");
            let mut command = Command::new(compiler);
            succeeds(command.arg(standard).arg(sdk).args(strict).arg(source).current_dir(&folder));
        }
    }
}

#[test]
fn project_in_c_compiles_for_onnxruntime() {
    compiles_for_onnxruntime("c", "cc", "-std=c11");
}

#[test]
fn project_in_cpp_compiles_for_onnxruntime() {
    compiles_for_onnxruntime("cpp", "c++", "-std=c++17");
}

#[test]
fn project_in_rust_keeps_the_contract() {
    tested_in_rust(&project("rust"));
}

#[test]
fn project_in_rust_for_both_hosts_keeps_the_contract() {
    tested_in_rust(&project_for("paddle,onnxruntime", "rust"));
}

/// Runs the tests of a project in Rust.
fn tested_in_rust(folder: &Path) {
    // The versions of the workspace are on this machine already, and the guide's crates share what is built here.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the file can be copied");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages/target");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--target-dir"]).arg(&target).current_dir(folder).env("PATH", path());
    cargo.env("CARGO_NET_OFFLINE", "true").env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let printed = succeeds(&mut cargo);
    assert!(!printed.contains("warning"), "{printed}");
    // The style of this repository does not apply to projects.
    fs::write(folder.join("rustfmt.toml"), "").expect("the file can be written");
    succeeds(Command::new("cargo").args(["fmt", "--check"]).current_dir(folder));
}

#[test]
fn commands_of_the_guide_make_projects() {
    let page = fs::read_to_string(root().join("docs/src/guide/new-device.md")).expect("the page exists");
    let lines = page.lines().filter_map(|line| line.strip_prefix("tenon new ")?.split(" #").next());
    let commands: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    assert!(!commands.is_empty(), "the page has no command");
    for arguments in commands {
        let output = new(&empty("guide"), &arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    }
    for command in ["make check", "cargo test", "pip install ."] {
        assert!(page.contains(command), "{command}");
    }
}

#[test]
fn header_is_the_one_of_the_sdk() {
    let folder = empty("header");
    assert!(
        new(&folder, &[NAME, "--lang", "c", "--folder", "."]).status.success(),
        "an empty folder is taken"
    );
    let read = |path: PathBuf| fs::read(path).expect("the file can be read");
    let header = "include/tenon/device_ext.h";
    assert!(read(folder.join(header)) == read(root().join("sdk-c").join(header)));
}

#[track_caller]
fn is_refused(name: &str, arguments: &[&str], status: i32, message: &str) {
    let folder = empty(name);
    let output = new(&folder, arguments);
    assert_eq!(output.status.code(), Some(status), "{}", text(&output));
    assert!(text(&output).contains(message), "{}", text(&output));
    assert!(fs::read_dir(&folder).expect("the folder exists").next().is_none(), "something was written");
}

#[test]
fn bad_name_is_refused() {
    is_refused("bad-name", &["My NPU"], 2, "expected lower-case letters");
    is_refused("bad-name", &["../npu"], 2, "expected lower-case letters");
    is_refused("bad-name", &["gpu"], 2, "PaddlePaddle uses this name");
    is_refused("bad-name", &["onnxruntime"], 2, "a package of this name exists");
    is_refused("bad-host", &[NAME, "--host", "tensorflow"], 2, "[possible values: paddle, onnxruntime]");
}

#[test]
fn folder_without_tenon_is_refused() {
    is_refused("not-tenon", &[NAME, "--tenon", "."], 1, "`.` is not a checkout of Tenon");
    is_refused("not-tenon", &[NAME, "--tenon", "/nowhere"], 1, "`--tenon PATH` names the root");
}

#[test]
fn folder_with_files_is_refused() {
    let folder = empty("not-empty");
    fs::create_dir(folder.join(NAME)).expect("the folder can be made");
    let file = folder.join(NAME).join("thesis.txt");
    fs::write(&file, "").expect("the file can be written");
    for (arguments, message) in [
        (&[NAME][..], "`test-npu` exists and is not empty"),
        (&[NAME, "--folder", "test-npu/thesis.txt"], "cannot write `test-npu/thesis.txt`"),
    ] {
        let output = new(&folder, arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(message), "{}", text(&output));
        let left: Vec<_> = fs::read_dir(folder.join(NAME)).expect("it exists").flatten().collect();
        assert_eq!(left.len(), 1, "something was written");
    }
}
