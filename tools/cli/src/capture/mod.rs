//! `tenon capture`, `tenon replay` and `tenon trim`: recorded calls.

pub mod replay;
pub mod trim;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use miette::Diagnostic;
use tenon_layers::capture::c_program::{CProgramError, c_program};
use tenon_layers::capture::{ReadError, Recording};

use crate::Answer;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Lists the recorded calls, with the numbers for `tenon trim`
    List(ListOptions),
    ToC(ToCOptions),
}

#[derive(Debug, Args)]
pub struct ListOptions {
    /// A file that the layer `capture` has written; it may be cut off by a crash
    file: PathBuf,
    /// List only the calls of a function
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
}

const AFTER_TO_C: &str = "\
The program needs the C SDK of Tenon, and nothing else: cc program.c -ltenon -o program. Its argument is the plugin; without
one, the built-in CPU device repeats the calls. -v prints each call before it is made. Calls that it cannot repeat are
comments.

Example:
  tenon trim program.cap --from 1200 --to 1350 -o step.cap
  tenon capture to-c step.cap -o step.c";

/// Writes a C program that repeats the calls, and compares the results
#[derive(Debug, Args)]
#[command(after_help = AFTER_TO_C)]
pub struct ToCOptions {
    /// A file that the layer `capture` has written, with at most 16 MiB of data
    file: PathBuf,
    /// The file for the program; without it the standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A program that cannot be written.
#[derive(Debug, thiserror::Error, Diagnostic)]
enum Failure {
    #[error(transparent)]
    Program(#[from] CProgramError),
    #[error("cannot write {}", file.display())]
    Write { file: PathBuf, source: std::io::Error },
}

/// A capture that cannot be read.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error(transparent)]
#[diagnostic(help(
    "programs write captures with TENON_LAYERS=capture, to the file that TENON_CAPTURE_FILE names"
))]
pub struct Unreadable(#[from] ReadError);

pub fn run(command: &Command) -> miette::Result<Answer> {
    match command {
        Command::List(options) => Ok(list(options)?),
        Command::ToC(options) => {
            let recording = Recording::open(&options.file).map_err(Unreadable::from)?;
            Ok(to_c(&recording, options.output.as_ref())?)
        }
    }
}

fn to_c(recording: &Recording, output: Option<&PathBuf>) -> Result<Answer, Failure> {
    let program = c_program(recording)?;
    match output {
        None => Ok(Answer::done(program)),
        Some(file) => {
            std::fs::write(file, program).map_err(|source| Failure::Write { file: file.clone(), source })?;
            Ok(Answer::done(format!("{}: compile it with -ltenon\n", file.display())))
        }
    }
}

fn list(options: &ListOptions) -> Result<Answer, Unreadable> {
    let recording = Recording::open(&options.file)?;
    let mut text = String::new();
    let is_wanted = |name: &str| options.function.as_ref().is_none_or(|function| function == name);
    for call in recording.calls.iter().filter(|call| is_wanted(call.function.name())) {
        // Several plugins are rare, so only further ones are named.
        let plugin = match call.plugin {
            0 => String::new(),
            plugin => format!("{}: ", recording.plugins[plugin as usize]),
        };
        let _ = writeln!(text, "{plugin}{call}");
    }
    text.push_str(&end_of(&recording));
    Ok(Answer { text, code: ExitCode::SUCCESS })
}

/// Describes the end of a capture that is not complete.
fn end_of(recording: &Recording) -> String {
    match (recording.is_ended, recording.cut_off) {
        (true, _) => String::new(),
        (false, 0) => "the recorded program ended without ending the capture, as by a crash\n".to_owned(),
        (false, bytes) => format!("the file is cut off in a record, of which it has {bytes} bytes\n"),
    }
}
