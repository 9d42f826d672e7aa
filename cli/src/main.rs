//! The command `tenon`: what a trace says, and what the rules of validation mean.
//!
//! The work is done by libraries; here are the options, and how answers and failures are shown.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod rules;
mod trace;

const EXAMPLES: &str = "\
Examples:
  TENON_LAYERS=trace ./program           writes tenon-trace-<pid>.json
  tenon trace summary tenon-trace-7.json what was called, and how long it took
  tenon rules                            what `TENON_LAYERS=validate` checks
  tenon rules V031                       what one rule means

Exit status: 0 done, 1 anything else, 2 wrong options.";

/// Looks at what programs do with devices.
#[derive(Debug, Parser)]
#[command(name = "tenon", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What a trace says
    #[command(subcommand)]
    Trace(trace::Command),
    /// What the rules of validation mean
    Rules(rules::Options),
}

fn main() -> miette::Result<ExitCode> {
    let answer = match Cli::parse().command {
        Command::Trace(command) => trace::run(&command)?,
        Command::Rules(options) => rules::run(&options)?,
    };
    // Who reads only the beginning, such as `head`, has seen enough.
    let _ = std::io::stdout().lock().write_all(answer.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// A value as JSON for programs.
fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
