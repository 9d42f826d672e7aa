//! The plugins that the tests inside PaddlePaddle load. Each is in a separate folder, for `CUSTOM_DEVICE_ROOT`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, at};
use crate::process::{cargo, step};
use crate::project;

/// Returns the folder that contains the folders of the plugins: `rust`, `operators`, `primitives`, `c` and `c_operators` are the
/// examples, `between` the layers, and `old` a plugin for release 2.6 only. Beside them is the command `tenon`, with which
/// tests make new projects.
pub fn folder() -> PathBuf {
    project::cache("examples")
}

/// Returns the library that plugins in C link. [`build`] makes it.
pub fn archive() -> PathBuf {
    project::target().join("debug/libtenon_plugin.a")
}

/// Builds the plugins.
pub fn build() -> Result<(), Failure> {
    let root = folder();
    let packages = [
        ("rust", "example-rust-plugin"),
        ("operators", "example-rust-operators"),
        ("primitives", "example-rust-primitives"),
        ("between", "tenon-paddle-layers"),
        ("onnxruntime_between", "tenon-onnxruntime-layers"),
    ];
    // Builds the whole workspace: for single packages, cargo would choose fewer features of common dependencies than for the
    // Rust tests, and build these and all that depends on them a second time.
    cargo().args(["build", "--quiet", "--workspace"]).run()?;
    for (folder, package) in packages {
        let library = format!("lib{}.so", package.replace('-', "_"));
        let built = project::target().join("debug").join(&library);
        fs::copy(&built, made(&root, folder)?.join(&library)).map_err(at(&built))?;
    }
    let command = project::target().join("debug/tenon");
    fs::copy(&command, root.join("tenon")).map_err(at(&command))?;
    let sources = [
        ("c", "examples/c-plugin/plugin.c", "libc_plugin.so"),
        ("old", "plugins/paddle-layers/tests/old_plugin.c", "libold_plugin.so"),
    ];
    for (folder, source, library) in sources {
        compile(&[source], &made(&root, folder)?.join(library), &[])?;
    }
    let archive = archive();
    let archive = archive.to_string_lossy();
    let flags = [&*archive, "-lgcc_s", "-lpthread", "-lm", "-ldl", "-Wl,--exclude-libs,ALL,-z,defs"];
    let sources = ["device", "operators", "convolution"].map(|name| format!("examples/c-operators/{name}.c"));
    let sources = sources.each_ref().map(String::as_str);
    compile(&sources, &made(&root, "c_operators")?.join("libc_operators.so"), &flags)
}

/// Compiles a plugin in C.
fn compile(sources: &[&str], library: &Path, flags: &[&str]) -> Result<(), Failure> {
    step(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"])
        .arg("-Isdk-c/include")
        .args(sources)
        .arg("-o")
        .arg(library)
        .args(flags)
        .run()
}

/// Creates a folder inside another one if necessary, and returns its path.
fn made(root: &Path, folder: &str) -> Result<PathBuf, Failure> {
    let folder = root.join(folder);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}
