//! The command line.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::report::{self, Style};
use crate::{Error, Level, Options, Outcome, SERVE, Source, chosen, run, serve};

const AFTER: &str = "\
What the plugin lacks is no failure, unless a host needs it: cases about it are skipped, and the
table shows whether the spec has a fallback. With --fallbacks that is tested in its place.

Each group of cases runs in a process of its own, which is started anew after a failure. A crash
is one failed case, and so is a hang, after --timeout.

Exit code: 0 if all cases passed, 1 if any failed, 2 if nothing could be tested.

Examples:
  conformance ./libmy_npu.so
  conformance ./libmy_npu.so --level required
  conformance ./libmy_npu.so --filter order.rerecord --in-process    # under a debugger
  conformance ./libold.so --release 3.1          # for a plugin that does not tell its release
  conformance --builtin cpu --level good --junit report.xml";

/// Holds a device plugin to the spec's contract.
///
/// The plugin is a shared library that exports `InitPlugin`, as PaddlePaddle loads them, built for any release from 2.6
/// to 3.3, or a manifest that names one. Nothing of its source is needed.
#[derive(Debug, Parser)]
#[command(name = "conformance", version, after_help = AFTER)]
pub struct Arguments {
    /// The plugin: a library, or a manifest.
    #[arg(value_name = "PLUGIN", required_unless_present_any = ["builtin", "list"])]
    plugin: Option<PathBuf>,

    /// Tests a device that is part of Tenon: `cpu`.
    #[arg(long, value_name = "NAME", conflicts_with = "plugin")]
    builtin: Option<String>,

    /// The release of PaddlePaddle that the plugin was built for, such as 3.1; only where it does not tell by itself.
    #[arg(long, value_name = "RELEASE", requires = "plugin")]
    release: Option<String>,

    /// How strict to be.
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "promised")]
    level: Level,

    /// Runs only the case of that name, or those with TEXT in their name or in that of a function they
    /// speak of; may be repeated.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,

    /// Tests the spec's fallbacks in the place of functions that the plugin lacks.
    #[arg(long)]
    fallbacks: bool,

    /// How long a case may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,

    /// Runs the cases in this process, for a debugger: a crash ends the run, and a hang is for ever.
    #[arg(long)]
    in_process: bool,

    /// Lists the cases with their promises, and runs none.
    #[arg(long)]
    list: bool,

    /// Writes all that was found to FILE as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes the cases to FILE as JUnit XML, which CI systems read.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Shows also functions without a case, and why cases were skipped.
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

/// Runs the command with its arguments, the program's name first.
pub fn execute(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == SERVE) {
        serve();
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // There is nobody to tell where the terminal is gone.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match arguments.execute() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{:?}", miette::Report::msg(error));
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    fn execute(&self) -> Result<ExitCode, Error> {
        let options = Options {
            level: self.level,
            filters: self.filter.clone(),
            fallbacks: self.fallbacks,
            timeout: self.timeout,
            program: if self.in_process { None } else { Options::default().program },
        };
        let style = Style::of(&std::io::stdout());
        if self.list {
            print(&report::list(&chosen(&options)?, style));
            return Ok(ExitCode::SUCCESS);
        }
        let outcome = self.run(&options)?;
        print(&report::table(&outcome, style, self.verbose));
        for (path, text) in [
            (&self.json, report::json as fn(&Outcome) -> String),
            (&self.junit, report::junit as fn(&Outcome) -> String),
        ] {
            if let Some(path) = path {
                std::fs::write(path, text(&outcome))
                    .map_err(|source| Error::Write { path: path.clone(), source })?;
            }
        }
        Ok(ExitCode::from(u8::from(outcome.counts()[1] > 0)))
    }

    fn run(&self, options: &Options) -> Result<Outcome, Error> {
        let source = match (&self.plugin, &self.builtin) {
            (Some(path), _) => Source::File { path: path.clone(), release: self.release.clone() },
            (None, name) => Source::Builtin(name.clone().unwrap_or_default()),
        };
        let mut terminal = std::io::stderr();
        if !terminal.is_terminal() {
            return run(&source, options, &mut |_| {});
        }
        let outcome = run(&source, options, &mut |progress| {
            // A terminal that does not take the bar does not stop the run.
            let _ = write!(terminal, "\r\x1b[2K{}", report::bar(progress));
            let _ = terminal.flush();
        });
        let _ = write!(terminal, "\r\x1b[2K");
        outcome
    }
}

/// Prints to standard output; a reader that has gone away is no error.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
