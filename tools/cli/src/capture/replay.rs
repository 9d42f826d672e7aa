//! `tenon replay`: repeats recorded calls on a device.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use miette::Diagnostic;
use tenon::device::Release;
use tenon_layers::capture::Recording;
use tenon_layers::capture::replay::{ReplayError, Target, replay};
use tenon_loader::{Binding, LoadError, LoadOptions, PaddleError, PaddleLibraries, Plugin};

use super::Unreadable;
use crate::Answer;

const AFTER: &str = "\
All calls run on one thread, in the recorded order. Callbacks of the program are replaced by one that does nothing.

A status that differs from the recorded one is a difference, and so are other bytes in a copy to the host, if the
recorded calls determine them. Operators and kernels of the program, which a capture does not contain, may have computed
the others; these are counted, and not compared. Numbers that a device reports about itself are not compared either.

Exit status: 0 if nothing differs, 1 otherwise. If the plugin crashes, so does this command; --verbose shows where.

Examples:
  TENON_LAYERS=capture TENON_CAPTURE_FILE=program.cap ./program
  tenon replay program.cap                              on the built-in CPU device
  tenon replay program.cap --plugin ./libmy_npu.so --device 1";

/// Repeats recorded calls on a device, and compares the results
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// A file that the layer `capture` has written
    file: PathBuf,
    /// The plugin that repeats the calls: a library, or a manifest; without it the built-in CPU device
    #[arg(long, value_name = "PLUGIN")]
    plugin: Option<PathBuf>,
    /// The device for the calls of all recorded devices; without it each has its recorded number
    #[arg(long, value_name = "NUMBER")]
    device: Option<i32>,
    /// The release of PaddlePaddle that the plugin was built for, such as 3.1; only if the plugin does not report it
    #[arg(long, value_name = "RELEASE", requires = "plugin", value_parser = release)]
    release: Option<Release>,
    /// Load the libraries of the PaddlePaddle of this Python first, for a plugin that calls them
    #[arg(long, value_name = "PYTHON", requires = "plugin")]
    host: Option<PathBuf>,
    /// Print each call to standard error before it is repeated
    #[arg(long, short)]
    verbose: bool,
    /// For programs: the results as JSON
    #[arg(long)]
    json: bool,
}

fn release(name: &str) -> Result<Release, String> {
    let known = || Release::ALL.map(Release::name).join(", ");
    Release::ALL
        .into_iter()
        .find(|release| release.name() == name)
        .ok_or_else(|| format!("expected one of {}", known()))
}

/// A device that cannot repeat calls.
#[derive(Debug, thiserror::Error, Diagnostic)]
enum Failure {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Paddle(#[from] PaddleError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

pub fn run(options: &Options) -> miette::Result<Answer> {
    let recording = Recording::open(&options.file).map_err(Unreadable::from)?;
    Ok(repeat(options, &recording)?)
}

fn repeat(options: &Options, recording: &Recording) -> Result<Answer, Failure> {
    let plugin = match &options.plugin {
        None => Plugin::built_in(c"cpu", tenon_cpu::Cpu::shared().clone()),
        Some(path) => {
            if let Some(python) = &options.host {
                PaddleLibraries::find(python)?.open()?;
            }
            let release = options.release;
            Plugin::load(
                path,
                &LoadOptions { release, binding: Binding::LaterForHost, ..LoadOptions::default() },
            )?
        }
    };
    let target = Target { device: options.device };
    let report = replay(recording, plugin.partial(), target, &mut |call| {
        if options.verbose {
            eprintln!("{call}");
        }
    })?;
    let text = if options.json {
        crate::json(&serde_json::json!(report))
    } else {
        format!("{report}{}", super::end_of(recording))
    };
    Ok(Answer { text, code: if report.is_equal() { ExitCode::SUCCESS } else { ExitCode::FAILURE } })
}
