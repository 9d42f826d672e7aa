//! Runs the tests of the Rust crates. The C tests are part of them.

use crate::failure::Failure;
use crate::paddle;
use crate::process::cargo;

/// A package in which all tests compile plugins against PaddlePaddle's headers.
const WITH_HEADERS: &str = "tenon-loader";
/// Further tests, or modules of tests, that compile these headers.
const HEADERS: &[&str] = &[
    "the_device_table_is_as_each_release_has_it",
    "the_kernel_functions_are_as_each_release_declares_them",
    "a_wrong_claim_is_found",
    "published::import::",
    "five_plugins_with_the_check_of_the_upstream_header",
    "five_plugins_that_compare_both_sizes",
    "five_plugins_that_check_nothing",
];
/// Tests that compile crates and take a minute or more.
const SLOW: &[&str] = &["rejected_code_fails_with_the_expected_messages"];

/// Runs every test.
pub fn all() -> Result<(), Failure> {
    cargo().args(["test", "--workspace", "--quiet", "--no-fail-fast"]).run()
}

/// Runs the fast tests that need no download.
pub fn quick() -> Result<(), Failure> {
    let mut tests = cargo().args(["test", "--workspace", "--quiet", "--no-fail-fast", "--tests"]);
    let mut skipped = SLOW.to_vec();
    if !paddle::has_headers() {
        tests = tests.args(["--exclude", WITH_HEADERS]);
        skipped.extend(HEADERS);
    }
    tests.arg("--").args(skipped.iter().flat_map(|name| ["--skip", name])).run()
}

/// Runs the tests of the stream core with loom, which explores all thread interleavings.
pub fn interleavings() -> Result<(), Failure> {
    cargo()
        .args(["test", "--quiet", "--workspace", "--test", "loom", "--target", TRIPLE])
        // With an explicit target, procedural macros are not rebuilt with these flags. The models must run fast, and
        // the release profile would compile each crate again.
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "2")
        .run()
}

/// The target triple of this system.
pub const TRIPLE: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
