//! `tenon check`: tests a plugin against the contract of the spec, or a provider against what ONNX Runtime expects.

mod provider;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tenon_conformance::report::{self, Style};
use tenon_conformance::{CaseResult, Error, Level, PaddleLibraries, Progress, Source};

use crate::Answer;

const AFTER: &str = "\
What the plugin lacks is no failure, unless a host needs it: cases about it are skipped, and the
table shows whether the spec has a fallback. With --fallbacks that is tested in its place. Slots
that the plugin filled with the spec's fallbacks itself are shown as `filled`.

Cases that fail for the same reason are shown once. A case that needs a function that has failed
is `not tested`: only what was tested is named as failed.

Functions of PaddlePaddle that the plugin calls may be missing until a case reaches one; data, such
as vtables, may not. With --host their libraries are loaded first.

A library that exports `CreateEpFactories` is an execution provider of ONNX Runtime: its cases run
in the ONNX Runtime of --onnxruntime. What the provider does not take is skipped.

Each group of cases runs in a process of its own, which is started again after a failure. A crash
is one failed case, and so is a hang, after --timeout.

Exit status: 0 if all cases passed, 1 if any failed, 2 if nothing could be tested.

Examples:
  tenon check ./libmy_npu.so
  tenon check ./libmy_npu.so --level required
  tenon check ./libmy_npu.so --filter order.rerecord --in-process    # under a debugger
  tenon check ./libold.so --release 3.1          # for a plugin that does not tell its release
  tenon check ./libnpu.so --host python3         # for a plugin with kernels in C++
  tenon check --builtin cpu --level good --junit report.xml
  tenon check ./libmy_ep.so --onnxruntime venv/bin/python";

/// Tests a device plugin or an execution provider.
///
/// A plugin is a shared library that exports `InitPlugin`, as PaddlePaddle loads them, built for any release from 2.6 to
/// 3.3, or a manifest that names one. It is tested against the contract of the spec. An execution provider of ONNX Runtime
/// exports `CreateEpFactories`. The source of neither is needed.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// The plugin or the provider: a library, or a manifest
    #[arg(value_name = "PLUGIN", required_unless_present_any = ["builtin", "list"])]
    plugin: Option<PathBuf>,

    /// Test a device that is part of Tenon: `cpu`
    #[arg(long, value_name = "NAME", conflicts_with = "plugin")]
    builtin: Option<String>,

    /// The release of PaddlePaddle that the plugin was built for, such as 3.1; only if the plugin does not report it
    #[arg(long, value_name = "RELEASE", requires = "plugin")]
    release: Option<String>,

    /// Load the libraries of the PaddlePaddle of this Python first, for a plugin that calls them, such as one with
    /// kernels in C++
    #[arg(long, value_name = "PYTHON", requires = "plugin")]
    host: Option<PathBuf>,

    /// Test an execution provider in the ONNX Runtime of this Python; for a library that is no plugin, `python3` if not
    /// given
    #[arg(long, value_name = "PYTHON", conflicts_with_all = ["builtin", "release", "host", "fallbacks", "in_process"])]
    onnxruntime: Option<PathBuf>,

    /// The strictness of the tests
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "promised")]
    level: Level,

    /// Run only the case of that name, or those with TEXT in their name or in the name of a function they test; may be
    /// repeated
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,

    /// Test the spec's fallbacks of functions that the plugin lacks
    #[arg(long)]
    fallbacks: bool,

    /// The time limit of a case, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,

    /// Run the cases in this process, for a debugger: a crash ends the run, and a hang never ends
    #[arg(long)]
    in_process: bool,

    /// List the cases with their promises, and run none
    #[arg(long)]
    list: bool,

    /// Print all results as JSON instead of the table
    #[arg(long)]
    json: bool,

    /// Write the cases to FILE as JUnit XML, which CI systems read
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Show also functions without a case, and why cases were skipped
    #[arg(long, short)]
    verbose: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => {
            Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
        }
        _ => Err("expected a number of seconds above 0".to_owned()),
    }
}

pub fn run(options: &Options) -> Result<Answer, Error> {
    let style = Style::of(&std::io::stdout());
    let wanted = options.wanted();
    if let Some(python) = provider::python(options) {
        return provider::run(options, &wanted, &python, style);
    }
    if options.list {
        let cases = tenon_conformance::chosen(&wanted)?;
        return Ok(Answer::done(if options.json {
            report::list_json(&cases)
        } else {
            report::list(&cases, style)
        }));
    }
    let source = options.source()?;
    let outcome = watched(|progress| tenon_conformance::run(&source, &wanted, progress))?;
    options.write_junit(&outcome.plugin.name, &outcome.cases, outcome.milliseconds)?;
    Ok(Answer {
        text: if options.json {
            report::json(&outcome)
        } else {
            report::table(&outcome, style, options.verbose)
        },
        code: ExitCode::from(u8::from(outcome.counts().failed > 0)),
    })
}

impl Options {
    fn source(&self) -> Result<Source, Error> {
        let Some(path) = self.plugin.clone() else {
            return Ok(Source::Builtin(self.builtin.clone().unwrap_or_default()));
        };
        let host = self.host.as_deref().map(PaddleLibraries::find).transpose()?;
        Ok(Source::File { path, release: self.release.clone(), host })
    }

    fn wanted(&self) -> tenon_conformance::Options {
        let program = tenon_conformance::Options::default().program;
        tenon_conformance::Options {
            level: self.level,
            filters: self.filter.clone(),
            fallbacks: self.fallbacks,
            timeout: self.timeout,
            program: program.filter(|_| !self.in_process),
        }
    }

    /// Writes the cases to the file that is wanted, if any.
    fn write_junit(&self, name: &str, cases: &[CaseResult], milliseconds: u64) -> Result<(), Error> {
        let Some(path) = &self.junit else { return Ok(()) };
        std::fs::write(path, report::junit(name, cases, milliseconds))
            .map_err(|source| Error::Write { path: path.clone(), source })
    }
}

/// Runs cases, with a progress bar on a terminal.
fn watched<O>(run: impl FnOnce(&mut dyn FnMut(Progress<'_>)) -> Result<O, Error>) -> Result<O, Error> {
    let mut terminal = std::io::stderr();
    if !terminal.is_terminal() {
        return run(&mut |_| {});
    }
    let outcome = run(&mut |progress| {
        // A terminal that cannot show the bar does not stop the run.
        let _ = write!(terminal, "\r\x1b[2K{}", report::bar(progress));
        let _ = terminal.flush();
    });
    let _ = write!(terminal, "\r\x1b[2K");
    outcome
}
