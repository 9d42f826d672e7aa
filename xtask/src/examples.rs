//! The plugins in `examples/`, each in a folder of its own, as `CUSTOM_DEVICE_ROOT` wants it.

use std::fs;
use std::path::PathBuf;

use crate::process::{Failure, at, cargo, step};
use crate::project;

/// Builds them, and returns the folder that holds `rust/` and `c/`.
pub fn build() -> Result<PathBuf, Failure> {
    let root = project::cache("examples");
    let (rust, c) = (root.join("rust"), root.join("c"));
    for folder in [&rust, &c] {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    cargo().args(["build", "--quiet", "--package", "example-rust-plugin"]).run()?;
    let built = project::path("target/debug/libexample_rust_plugin.so");
    let placed = rust.join("libexample_rust_plugin.so");
    fs::copy(&built, &placed).map_err(at(&built))?;
    step(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"])
        .args(["-Isdk-c/include", "examples/c-plugin/plugin.c", "-o"])
        .arg(c.join("libc_plugin.so"))
        .installed_by("apt-get install gcc libc6-dev")
        .run()?;
    Ok(root)
}
