//! What people run: `cargo xtask …`. Each module is one thing that can be asked for.

mod bench;
mod docs;
mod examples;
mod fuzz;
mod install;
mod links;
mod lint;
mod paddle;
mod process;
mod project;
mod python;
mod python_sdk;
mod sdk;
mod side_by_side;
mod test;
mod wheel;

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
    /// Every test: lints, generated files, Rust, C, the book, and PaddlePaddle itself
    Test(test::Options),
    /// Format, lints and type checks, and nothing else
    Lint,
    /// The headers out of PaddlePaddle's wheels, for the layout tests
    Headers,
    /// The C SDK: headers, libraries, pkg-config, CMake package and examples, below a prefix
    Install(install::Options),
    /// The part of the tests that is about the installed C SDK
    Sdk,
    /// The part of the tests that is about the Python SDK, with each Python from 3.9 to 3.13 of this machine
    Python,
    /// The wheels of the Python SDK and of the plugin for PaddlePaddle, in `dist/`
    Wheel(wheel::Options),
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

fn main() -> Result<()> {
    let outcome = match Arguments::parse().task {
        Task::Test(options) => test::run(&options),
        Task::Lint => lint::run(),
        Task::Headers => paddle::headers().map(|_| ()),
        Task::Install(options) => install::run(&options),
        Task::Sdk => sdk::test(),
        Task::Python => python_sdk::test(true),
        Task::Wheel(options) => wheel::run(&options),
        Task::Demo(options) => paddle::demo(&options),
        Task::Docs(options) => docs::run(&options),
        Task::Pictures => python_sdk::pictures(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Bench(options) => bench::run(&options),
    };
    Ok(outcome?)
}
