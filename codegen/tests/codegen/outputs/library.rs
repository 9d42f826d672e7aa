//! A C library with a status enum, opaque handles and read-only handles: checks the outputs of its spec.
//!
//! `library/` has the spec, its outputs, and the library, which `sdk-rs/tests/library_spec.rs` calls.
//! `UPDATE_EXPECT=1` updates the outputs; review them.

use std::path::PathBuf;
use std::process::Command;

use crate::data;

fn here() -> PathBuf {
    data("library")
}

#[test]
fn outputs_are_as_expected() {
    super::assert_expected(&here());
}

#[test]
fn library_compiles_against_its_header() {
    for (compiler, language, standard) in [("cc", "c", "c11"), ("c++", "c++", "c++17")] {
        let output = Command::new(compiler)
            .args(["-x", language, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
            .arg(format!("-std={standard}"))
            .arg("-I")
            .arg(here().join("expected/include"))
            .arg(here().join("library.c"))
            .output()
            .unwrap_or_else(|_| panic!("`{compiler}` is not installed: apt-get install gcc g++"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
