//! The command `tenon`: makes projects for devices, tests and lists plugins, examines set-ups, writes bug reports,
//! summarises traces, repeats recorded calls, and explains the rules of validation.
//!
//! Libraries do the work; the crate contains the options and the output. The Python package has a command of the same
//! name with more subcommands, which runs this program for these.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::{MietteHandlerOpts, Report};

mod capture;
mod check;
mod doctor;
mod environment;
mod manifest;
mod matrix;
mod new;
mod report;
mod rules;
mod trace;

const EXAMPLES: &str = "\
Examples:
  tenon new my-npu --lang c              makes a project for a device
  tenon check ./libmy_npu.so             does a plugin keep what the spec promises?
  tenon doctor                           why does PaddlePaddle not list my device?
  tenon doctor --onnxruntime python3     why does ONNX Runtime not list it?
  tenon matrix plugins/*.so              which releases does each plugin support?
  tenon report ./libmy_npu.so            writes a file for a bug report
  TENON_LAYERS=trace ./program           writes tenon-trace-<pid>.json
  tenon trace summary tenon-trace-7.json what was called, and how long it took
  TENON_LAYERS=capture ./program         writes tenon-capture-<pid>.cap
  tenon replay tenon-capture-7.cap       repeats its calls on the built-in CPU device
  tenon capture to-c tenon-capture-7.cap a C program that repeats its calls
  tenon rules                            what `TENON_LAYERS=validate` checks
  tenon rules V031                       what one rule means

Exit status: 0 done, 1 anything else, 2 wrong options; that of `tenon check` is in its help.";

/// Makes and tests device plugins, and examines how programs use devices.
#[derive(Debug, Parser)]
#[command(name = "tenon", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::Options),
    Check(check::Options),
    Doctor(doctor::Options),
    Matrix(matrix::Options),
    Report(report::Options),
    /// Summarises a trace
    #[command(subcommand)]
    Trace(trace::Command),
    /// Lists recorded calls, or writes them as a C program
    #[command(subcommand)]
    Capture(capture::Command),
    Replay(capture::replay::Options),
    Trim(capture::trim::Options),
    /// Explains the rules of validation
    Rules(rules::Options),
    /// Loads a plugin for `doctor`
    #[command(hide = true)]
    Probe(doctor::paddle::probe::Options),
}

/// The output of a command.
struct Answer {
    text: String,
    code: ExitCode,
}

impl Answer {
    fn done(text: String) -> Self {
        Answer { text, code: ExitCode::SUCCESS }
    }
}

fn main() -> ExitCode {
    // Messages are wrapped for a terminal only. In a log, a search finds each in one line, whatever the length of a path.
    let form = || MietteHandlerOpts::new().wrap_lines(std::io::stderr().is_terminal()).build();
    // The only hook of this program, so that setting it does not fail.
    let _ = miette::set_hook(Box::new(move |_| Box::new(form())));
    if std::env::args_os().nth(1).is_some_and(|first| first == tenon_conformance::SERVE) {
        tenon_conformance::serve();
    }
    // A file or a program takes lines as they are; wrapped, a path would not be found in them.
    if !std::io::stderr().is_terminal() {
        // Fails only if there is a hook already.
        let _ = miette::set_hook(Box::new(|_| Box::new(MietteHandlerOpts::new().wrap_lines(false).build())));
    }
    let (outcome, on_failure) = match Cli::parse().command {
        Command::New(options) => (new::run(&options).map_err(Report::new), 1),
        Command::Check(options) => (check::run(&options).map_err(Report::msg), 2),
        Command::Doctor(options) => (Ok(doctor::run(&options)), 1),
        Command::Matrix(options) => (matrix::run(&options).map_err(Report::msg), 1),
        Command::Report(options) => (report::run(&options).map_err(Report::new), 1),
        Command::Probe(options) => doctor::paddle::probe::serve(&options),
        Command::Trace(command) => (trace::run(&command).map_err(Report::new), 1),
        Command::Capture(command) => (capture::run(&command), 1),
        Command::Replay(options) => (capture::replay::run(&options), 1),
        Command::Trim(options) => (capture::trim::run(&options), 1),
        Command::Rules(options) => (rules::run(&options).map(Answer::done).map_err(Report::new), 1),
    };
    match outcome {
        Ok(answer) => {
            match std::io::stdout().lock().write_all(answer.text.as_bytes()) {
                // A reader of only the beginning, such as `head`, closes the pipe early.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    eprintln!("error: the answer cannot be written: {error}");
                    ExitCode::from(on_failure)
                }
                _ => answer.code,
            }
        }
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(on_failure)
        }
    }
}

/// Returns a value as JSON for programs.
fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
