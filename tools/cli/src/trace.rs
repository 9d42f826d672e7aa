//! `tenon trace`: summarises a trace.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tenon_layers::trace::summary::{Summary, SummaryError};

use crate::Answer;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows the most frequent and the longest calls, the work of streams, and the memory in use
    ///
    /// The exit status is 1 if events are missing in the trace, or its end.
    Summary(Options),
}

#[derive(Debug, Args)]
pub struct Options {
    /// A file that the layer `trace` has written; it may be cut off by a crash
    file: PathBuf,
    /// For programs: everything, in nanoseconds and bytes
    #[arg(long)]
    json: bool,
    /// The most rows of a table
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot read `{}`", file.display())]
#[diagnostic(help("programs write traces with TENON_LAYERS=trace, to the file that TENON_TRACE_FILE names"))]
pub struct Failure {
    file: PathBuf,
    source: SummaryError,
}

pub fn run(Command::Summary(options): &Command) -> Result<Answer, Failure> {
    let opened = tenon_files::open(&options.file).map_err(io::Error::from);
    let summary = opened
        .map_err(SummaryError::from)
        .and_then(|file| Summary::read(BufReader::new(file)))
        .map_err(|source| Failure { file: options.file.clone(), source })?;
    let text = if options.json {
        crate::json(&serde_json::json!(summary))
    } else {
        summary.tables(options.top).to_string()
    };
    let is_complete = summary.dropped == 0 && !summary.truncated;
    Ok(Answer { text, code: if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE } })
}
