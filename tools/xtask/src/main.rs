//! What people run: `cargo xtask …`. Each module is one thing that can be asked for.

mod bench;
mod docs;
mod fuzz;
mod paddle;
mod process;
mod project;
mod sdk;
mod side_by_side;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::Result;

/// Builds, tests and shows Tenon.
#[derive(Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Every test: lints, generated files, Rust, C, the book, and PaddlePaddle itself; `--quick` for the daily loop
    Test(test::Options),
    /// Format, lints and type checks, and nothing else
    Lint,
    /// The headers out of PaddlePaddle's wheels, for the layout tests
    Headers,
    /// The C SDK: headers, libraries, pkg-config, CMake package and examples, below a prefix
    Install(sdk::install::Options),
    /// The part of the tests that is about the installed C SDK
    Sdk,
    /// The README's commands in a clone of `HEAD`, on a machine that has the requirements and no other tool
    Bare,
    /// The part of the tests that is about the Python SDK, with each Python from 3.9 to 3.13 of this machine
    Python,
    /// The wheels of the Python SDK and of the plugin for PaddlePaddle, in `dist/`
    Wheel(sdk::wheel::Options),
    /// Trains LeNet and a small Transformer on the device, beside PaddlePaddle's own CPU
    Demo(paddle::DemoOptions),
    /// The book, in `target/book`
    Docs(docs::Options),
    /// The pictures of the command `tenon` in the book
    Pictures,
    /// Fuzzers, led by coverage: random calls of the C SDK, damaged specs
    Fuzz(fuzz::Options),
    /// Benchmarks, each side by side with what it is compared to
    Bench(bench::Options),
}

fn main() -> Result<ExitCode> {
    let outcome = match Arguments::parse().task {
        // Failures of its parts are in its summary, which ends with the line that a continuous integration reads.
        Task::Test(options) => return Ok(test::run(options)?),
        Task::Bare => test::bare::test(),
        Task::Sdk => return Ok(test::c_sdk()?),
        Task::Lint => test::lint::run(),
        Task::Headers => paddle::headers().map(|_| ()),
        Task::Install(options) => sdk::install::run(&options),
        Task::Python => sdk::python::test(true),
        Task::Wheel(options) => sdk::wheel::run(&options),
        Task::Demo(options) => paddle::demo(&options),
        Task::Docs(options) => docs::run(&options),
        Task::Pictures => sdk::python::pictures(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Bench(options) => bench::run(&options),
    };
    outcome?;
    Ok(ExitCode::SUCCESS)
}
