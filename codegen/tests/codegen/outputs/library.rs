//! A C library with a status enum, opaque handles and read-only handles: checks the outputs of its spec.
//!
//! `library/` has the spec, its outputs, and the library, which `sdk-rs/tests/library_spec.rs` calls.
//! `UPDATE_EXPECT=1` updates the outputs; review them.

use std::path::PathBuf;
use std::process::Command;

use codegen::emit::{Inputs, emit};
use codegen::out::{Edits, Target};
use codegen::source::Folder;

use crate::data;

fn here() -> PathBuf {
    data("library")
}

#[test]
fn outputs_are_as_expected() {
    let loaded = match codegen::load(&Folder::new(here().join("spec"))) {
        Ok(loaded) => loaded,
        Err(mistakes) => panic!("{}", mistakes.render(false)),
    };
    let inputs = Inputs { loaded: &loaded, folder: "spec", summary: None, exports: None };
    let files = emit(&inputs).expect("the outputs can be emitted");
    let target = Target::new(&here().join("expected"), &here().join("spec"), &loaded.spec);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        files.write(&target, Edits::Replace).expect("the expected files can be written");
    }
    let differences = files.check(&target).expect("the expected files can be read");
    assert!(differences.is_empty(), "{differences:#?}");
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
