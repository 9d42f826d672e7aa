//! Benchmarks: each prints what it measures beside what it is compared to, from one run.

use clap::Args;

use crate::process::{Failure, cargo};
use crate::sdk;

/// What is measured.
#[derive(Args)]
pub struct Options {
    /// One benchmark, rather than all: `table`, `streams`, `memory`, `call`, `load`, `layers`, `pool`, `codegen` or `python`
    name: Option<String>,
}

/// The benchmarks and the packages that they are in.
const BENCHES: &[(&str, &str)] = &[
    ("table", "tenon"),
    ("streams", "tenon-cpu"),
    ("memory", "tenon-cpu"),
    ("call", "tenon-sdk-c"),
    ("load", "tenon-host"),
    ("layers", "tenon-layers"),
    ("pool", "tenon-sdk-c"),
    ("codegen", "codegen"),
];

/// Runs the benchmarks.
pub fn run(options: &Options) -> Result<(), Failure> {
    for (name, package) in BENCHES {
        if options.name.as_deref().is_none_or(|wanted| wanted == *name) {
            cargo().args(["bench", "--quiet", "--package", package, "--bench", name]).run()?;
        }
    }
    if options.name.as_deref().is_none_or(|wanted| wanted == "python") {
        sdk::python::bench()?;
    }
    Ok(())
}
