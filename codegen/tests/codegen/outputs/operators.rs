//! Operators with a parameter of each kind: checks the C table, the traits, and the traits implemented by the table.
//!
//! `operators/` has the spec and its outputs. `UPDATE_EXPECT=1` updates the outputs; review them.

use std::path::PathBuf;
use std::process::Command;

use crate::{data, root};

fn here() -> PathBuf {
    data("operators")
}

#[test]
fn outputs_are_as_expected() {
    super::assert_expected(&here());
}

#[test]
fn header_compiles() {
    // The header includes `device_ext.h`, which is in the same folder in the C SDK.
    let device = root().join("sdk-c/include/tenon");
    for (compiler, language, standard) in [("cc", "c", "c11"), ("c++", "c++", "c++17")] {
        let output = Command::new(compiler)
            .args(["-x", language, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
            .arg(format!("-std={standard}"))
            .arg("-I")
            .arg(&device)
            .arg(here().join("table.c"))
            .output()
            .unwrap_or_else(|_| panic!("`{compiler}` is not installed: apt-get install gcc g++"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
