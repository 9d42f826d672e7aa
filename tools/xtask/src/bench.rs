//! Benchmarks. Each prints its results and its baseline from the same run.

use clap::Args;

use crate::diopi;
use crate::failure::Failure;
use crate::onnxruntime;
use crate::paddle;
use crate::process::cargo;
use crate::sdk;

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub struct Options {
    /// Run one benchmark only: `table`, `guard`, `streams`, `memory`, `call`, `load`, `layers`, `pool`, `formulas`, `codegen`, `python`, `diopi`, `onnxruntime`, `onnxruntime-layers`, `peak`, `paddle`, `collectives`, `processes` or `timeline`
    name: Option<String>,
    /// Arguments for the benchmark `diopi`, `onnxruntime`, `paddle`, `collectives`, `processes` or `timeline`; `-- --help` lists them
    #[arg(last = true)]
    rest: Vec<String>,
}

/// The benchmarks and their packages.
const BENCHES: &[(&str, &str)] = &[
    ("table", "tenon-loader"),
    ("guard", "tenon-loader"),
    ("streams", "tenon-cpu"),
    ("memory", "tenon-cpu"),
    ("call", "tenon-sdk-c"),
    ("load", "tenon-loader"),
    ("layers", "tenon-layers"),
    ("pool", "tenon-sdk-c"),
    ("formulas", "tenon-kernels"),
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
    if options.name.as_deref().is_none_or(|wanted| wanted == "diopi") {
        diopi::bench(&options.rest)?;
    }
    if options.name.as_deref().is_none_or(|wanted| wanted == "onnxruntime") {
        onnxruntime::bench(&options.rest)?;
    }
    if options.name.as_deref().is_none_or(|wanted| wanted == "onnxruntime-layers") {
        onnxruntime::bench_layers()?;
    }
    if options.name.as_deref().is_none_or(|wanted| wanted == "peak") {
        paddle::bench_peak()?;
    }
    for (name, script) in [
        ("paddle", "bench.py"),
        ("collectives", "collectives.py"),
        ("processes", "processes.py"),
        ("timeline", "timeline.py"),
    ] {
        if options.name.as_deref().is_none_or(|wanted| wanted == name) {
            paddle::bench(script, &options.rest)?;
        }
    }
    Ok(())
}
