//! Operators with a parameter of each kind: checks the C header and the traits.
//!
//! `operators/` has the spec and its outputs. `UPDATE_EXPECT=1` updates the outputs; review them.

use std::path::PathBuf;

use super::c_header::accepts;
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
    // The header includes `operator_calls.h` and `device_ext.h`, which are in the same folder in the C SDK.
    let device = root().join("sdk-c/include/tenon");
    for (compiler, standard) in [("cc", "c11"), ("c++", "c++17")] {
        accepts(compiler, standard, &device, &here().join("arguments.c"));
    }
}
