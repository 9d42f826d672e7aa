//! The commands `cargo xtask …`. Each module implements one command.

mod bench;
mod builds;
mod diopi;
mod docs;
mod failure;
mod fuzz;
mod lines;
mod notices;
mod onnxruntime;
mod packages;
mod paddle;
mod process;
mod project;
mod sanitize;
mod sdk;
mod side_by_side;
mod test;
mod tools;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::{MietteHandlerOpts, Result};

/// Builds, tests and packages Tenon.
#[derive(Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all tests: generated files, Rust, C, Python, the book, PaddlePaddle and ONNX Runtime; `--quick` runs a subset
    Test(test::Options),
    /// Run one part of the tests in this process, for `test`
    #[command(hide = true)]
    Part {
        name: String,
        #[command(flatten)]
        options: test::Options,
    },
    /// Run the lints: formats, clippy, ruff, types of Python, links in the Rust documentation, licences
    Lint,
    /// Extract the headers of PaddlePaddle's wheels for the layout tests
    Headers,
    /// Compare the newest wheel of PaddlePaddle on PyPI with the spec, and fail if its headers differ
    WatchReleases(paddle::watch::Options),
    /// Install the C SDK below a prefix: headers, libraries, pkg-config files, CMake package and examples
    Install(sdk::install::Options),
    /// Test the installed C SDK only
    Sdk,
    /// Run the commands of the README in a clone of `HEAD`, with only the required tools on the `PATH`
    Bare,
    /// Test the Python SDK only, with each installed Python from 3.9 to 3.13
    Python,
    /// Build the wheels of the Python SDK and of the plugins for PaddlePaddle and ONNX Runtime in `dist/`
    Wheel(sdk::wheel::Options),
    /// Count the generated lines by folder, and the lines of Rust that are written by hand
    Lines(lines::Options),
    /// Measure the processor time of the builds of users, from clean
    Builds(builds::Options),
    /// Write the licence notices of all linked crates to `THIRD-PARTY.txt`
    Notices,
    /// Train LeNet and a small Transformer on the plugin's device and on PaddlePaddle's CPU
    Demo(paddle::DemoOptions),
    /// Report which operators of common networks run on the device, and which PaddlePaddle's CPU computes
    Coverage(paddle::CoverageOptions),
    /// Train in PaddlePaddle with each optional function of the device hidden in turn
    Hidden(paddle::hidden::Options),
    /// Build the book in `target/book`
    Docs(docs::Options),
    /// Add sections to the book, for mdBook
    #[command(hide = true)]
    BookSections(docs::sections::Options),
    /// Draw the pictures of the command `tenon` for the book
    Pictures,
    /// Run the coverage-guided fuzzers: random calls of the C SDK, damaged specs, tensors of DIOPI
    Fuzz(fuzz::Options),
    /// Run tests under ThreadSanitizer and Miri, with a nightly toolchain
    Sanitize(sanitize::Options),
    /// Run the benchmarks, each next to its baseline
    Bench(bench::Options),
}

fn main() -> Result<ExitCode> {
    // Messages are wrapped for a terminal only. In a log, a search finds each in one line, whatever the length of a path.
    let form = || MietteHandlerOpts::new().wrap_lines(std::io::stderr().is_terminal()).build();
    // The only hook of this program, so that setting it does not fail.
    let _ = miette::set_hook(Box::new(move |_| Box::new(form())));
    let outcome = match Arguments::parse().task {
        // The summary contains the failures. CI reads its last line, so no error may follow it.
        Task::Test(options) => return Ok(test::run(&options)?),
        Task::Part { name, options } => test::run_part(&name, &options),
        Task::Bare => test::bare::test(),
        Task::Sdk => return Ok(test::c_sdk()?),
        Task::Lint => test::lint::run(),
        Task::Headers => paddle::headers().map(|_| ()),
        Task::WatchReleases(options) => paddle::watch::run(&options),
        Task::Install(options) => sdk::install::run(&options),
        Task::Python => sdk::python::test(true),
        Task::Wheel(options) => sdk::wheel::run(&options),
        Task::Lines(options) => lines::run(&options),
        Task::Builds(options) => builds::run(&options),
        Task::Notices => notices::run(),
        Task::Demo(options) => paddle::demo(&options),
        Task::Coverage(options) => paddle::coverage(&options),
        Task::Hidden(options) => paddle::hidden::run(&options),
        Task::Docs(options) => docs::run(&options),
        Task::BookSections(options) => docs::sections::run(&options),
        Task::Pictures => sdk::python::pictures(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Sanitize(options) => sanitize::run(&options),
        Task::Bench(options) => bench::run(&options),
    };
    outcome?;
    Ok(ExitCode::SUCCESS)
}
