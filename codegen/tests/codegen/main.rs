//! The generator: its command, its outputs, its diagnostics, and the specs of published interfaces.
//!
//! All are one program, because a program for each file would take longer to link. The folders beside this one contain
//! specs, expected outputs and lists.

use std::path::{Path, PathBuf};

mod cli;
mod diagnostics;
mod direction;
mod outputs;
mod published;
mod random;
mod specs;
mod texts;
mod tools;

/// Returns the root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate has a folder above it")
}

/// Returns the path of a file or folder beside this one.
fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}
