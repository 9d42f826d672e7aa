//! Selects the packages of builds.

use std::env;

use crate::process::{Step, cargo};

/// The environment variable with further packages that are built along, separated by spaces. The build hook of the wheels
/// reads it too.
///
/// The features of common dependencies depend on the packages of a cargo command. If all commands have the same packages,
/// cargo compiles each crate once.
pub const VARIABLE: &str = "TENON_PACKAGES";

/// The packages that the tests build in release mode.
pub const TESTED: &str = "example-rust-diopi tenon-ascendcl tenon-plugin tenon-cli tenon-cpu-operators-library tenon-diopi-cpu tenon-paddle tenon-sdk-c tenon-static";

/// Creates a step that builds packages, and those that the environment variable names.
pub fn build(packages: &[&str]) -> Step {
    let more = env::var(VARIABLE).unwrap_or_default();
    let packages = packages.iter().copied().chain(more.split_whitespace());
    cargo().args(["build", "--quiet"]).args(packages.flat_map(|package| ["--package", package]))
}
