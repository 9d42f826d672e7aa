//! `tenon trim`: cuts a part out of recorded calls.

use std::path::PathBuf;

use clap::Args;
use miette::Diagnostic;
use tenon_layers::capture::Recording;
use tenon_layers::capture::trim::{Part, TrimError, trim};

use super::Unreadable;
use crate::Answer;

const AFTER: &str = "\
`tenon capture list FILE` shows the numbers of the calls. The part begins with the earlier calls that it needs: those that
create its streams, events and memory, and those that determine the bytes that it reads. All calls keep their numbers.

Bytes that operators and kernels of the program computed before the part are not in a capture, and not in the part.

Example:
  tenon trim program.cap --from 1200 --to 1350 -o step.cap";

/// Cuts a part out of recorded calls, with what it needs
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// A file that the layer `capture` has written
    file: PathBuf,
    /// The number of the first call
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// The number of the last call, which is part of it; without it all calls to the end
    #[arg(long, value_name = "NUMBER")]
    to: Option<u64>,
    /// The file for the part; it must not exist
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// A part that cannot be written.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error(transparent)]
struct Failure(#[from] TrimError);

pub fn run(options: &Options) -> miette::Result<Answer> {
    let recording = Recording::open(&options.file).map_err(Unreadable::from)?;
    let end = options.to.map_or(u64::MAX, |last| last.saturating_add(1));
    let part = trim(&recording, options.from..end, &options.output).map_err(Failure::from)?;
    let Part { calls, earlier } = part;
    let file = options.output.display();
    Ok(Answer::done(format!("{file}: {calls} calls, and {earlier} earlier ones that they need\n")))
}
