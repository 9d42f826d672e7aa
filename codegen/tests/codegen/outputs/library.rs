//! A C library with a status enum, opaque handles and read-only handles: checks the outputs of its spec.
//!
//! `library/` has the spec, its outputs, and the library, which `sdk-rs/tests/library_spec.rs` calls.
//! `UPDATE_EXPECT=1` updates the outputs; review them.

use std::path::PathBuf;

use super::c_header::accepts;
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
    for (compiler, standard) in [("cc", "c11"), ("c++", "c++17")] {
        accepts(compiler, standard, &here().join("expected/include"), &here().join("library.c"));
    }
}
