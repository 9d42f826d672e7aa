//! Plugins in C++, compiled against the headers that the releases of PaddlePaddle ship.
#![allow(dead_code, reason = "no test uses all of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tenon::device::Release;
use tenon_loader::{LoadError, LoadOptions, Plugin};

pub fn root() -> &'static Path {
    // Tests of crates at different depths use this file.
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut ancestors = crate_root.ancestors();
    ancestors.find(|folder| folder.join("Cargo.lock").is_file()).expect("the crate lies in a workspace")
}

/// Returns the version of PaddlePaddle whose header stands for a release.
fn version(release: Release) -> &'static str {
    match release {
        Release::V2_6 => "2.6.2",
        Release::V3_0 => "3.0.0",
        Release::V3_1 => "3.1.1",
        Release::V3_2 => "3.2.2",
        Release::V3_3 => "3.3.1",
    }
}

/// Returns the release without its dot, as the plugins state it.
pub fn number(release: Release) -> usize {
    release.name().replace('.', "").parse().expect("a release's name is two numbers")
}

fn headers(release: Release) -> PathBuf {
    let folder = match std::env::var_os("TENON_PADDLE_HEADERS") {
        Some(folder) => PathBuf::from(folder),
        None => root().join("target/paddle-headers"),
    };
    let include = folder.join(version(release)).join("paddle/include");
    assert!(
        include.join("paddle/phi/backends/device_ext.h").is_file(),
        "no headers of PaddlePaddle {}; fetch them with: cargo xtask headers",
        version(release)
    );
    include
}

/// Returns an empty folder of a test's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier run can be removed");
    }
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

/// Compiles the plugin for a release; `flags` are macros that `plugin.cc` describes.
pub fn compile(to: &Path, release: Release, flags: &[&str]) {
    compile_with(to, release, flags, None);
}

/// Compiles a library as [`compile`] does, with a library that it needs.
pub fn compile_with(to: &Path, release: Release, flags: &[&str], needs: Option<&Path>) {
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-shared", "-fPIC", "-w", "-Wl,-z,lazy", "-I"]).arg(headers(release));
    compiler.arg(format!("-DRELEASE={}", number(release)));
    compiler.arg(format!("-DDEVICE_TYPE=\"device_{}\"", number(release)));
    compiler.args(flags.iter().map(|flag| format!("-D{flag}")));
    compiler.arg("-o").arg(to).arg(root().join("sdk-rs/hosts/loader/tests/common/plugin.cc"));
    if let Some(library) = needs {
        compiler.arg("-Wl,--no-as-needed").arg(library);
    }
    run(compiler);
}

pub fn run(mut compiler: Command) {
    let output =
        compiler.output().unwrap_or_else(|_| panic!("`c++` is not installed: apt-get install gcc g++"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles a plugin into a separate folder and loads it.
pub fn load(
    test: &str,
    release: Release,
    flags: &[&str],
    options: &LoadOptions,
) -> Result<Arc<Plugin>, LoadError> {
    let path = folder(test).join(format!("plugin_{}.so", number(release)));
    compile(&path, release, flags);
    Plugin::load(&path, options)
}

pub fn declared(release: Release) -> LoadOptions {
    LoadOptions { release: Some(release), ..LoadOptions::default() }
}

/// Returns the message of a plugin that must not load.
pub fn refusal(outcome: Result<Arc<Plugin>, LoadError>) -> (LoadError, String) {
    let error = outcome.expect_err("the plugin must not load");
    let text = error.to_string();
    (error, text)
}
