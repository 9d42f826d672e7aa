//! Uses a provider in a process of its own, as a program does: a provider may crash.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use tenon_conformance::Program;

use super::MARK;
use crate::doctor::child::{self, Ended};

/// Registers a library, runs a model on its devices, and unregisters it.
const PROGRAM: Program = Program { modules: &[], main: include_str!("trial.py") };

/// A provider that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A step of a program that uses a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    Import,
    Load,
    Register,
    List,
    Session,
    Run,
    Unregister,
    End,
}

impl fmt::Display for Step {
    /// Writes what the process was doing, as the end of a sentence.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Import => "while it imported ONNX Runtime",
            Self::Load => "while it loaded the library",
            Self::Register => "while it registered the library",
            Self::List => "while it listed the devices",
            Self::Session => "while it made a session",
            Self::Run => "while it ran a model",
            Self::Unregister => "while it unregistered the library",
            Self::End => "when it was about to end",
        })
    }
}

/// A report of the program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    Begun(Step),
    /// The dynamic linker refuses the library.
    Unloadable {
        message: String,
        /// Libraries that it needs and that are not found.
        missing: Vec<String>,
    },
    /// The hardware of the other providers.
    Hardware(Vec<String>),
    /// The devices of the library.
    Devices(Vec<Device>),
    /// A session on a device cannot be made, and Python hides this: the program gets one on the CPU.
    Hidden {
        name: String,
        message: String,
    },
    /// The operators of the nodes that the provider has taken; `None` if the release does not tell.
    Session(Option<Vec<String>>),
    Ran {
        expected: Vec<f64>,
        found: Vec<f64>,
    },
    /// The last step has raised an exception.
    Failed(String),
}

/// A device that a library lists.
#[derive(Debug, Deserialize)]
pub struct Device {
    pub name: String,
    pub vendor: String,
    pub version: String,
    pub hardware: String,
}

/// The result of using a provider.
pub struct Trial {
    pub reports: Vec<Report>,
    /// The last step that began.
    pub step: Step,
    /// The other lines that the program wrote.
    pub said: String,
    pub ended: Ended,
}

/// Uses a provider. `packages` is a folder of packages that are imported first, and `needed` are the names of the libraries
/// that the provider needs.
pub fn try_out(
    python: &Path,
    packages: Option<&Path>,
    library: &Path,
    needed: &[String],
) -> std::io::Result<Trial> {
    let library = library.canonicalize()?;
    let mut command = PROGRAM.command(python);
    command.arg(library).args(needed);
    if let Some(packages) = packages {
        let others = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let folders = std::iter::once(packages.to_path_buf()).chain(std::env::split_paths(&others));
        command.env("PYTHONPATH", std::env::join_paths(folders).map_err(std::io::Error::other)?);
    }
    let ended = child::run(&mut command, LIMIT)?;
    let (mut reports, mut said) = (Vec::new(), String::new());
    for line in ended.stdout.lines().chain(ended.stderr.lines()) {
        match line.strip_prefix(MARK) {
            Some(report) => reports.extend(serde_json::from_str::<Report>(report).ok()),
            None => said.extend([line, "\n"]),
        }
    }
    let begun = reports.iter().rev().find_map(|report| match report {
        Report::Begun(step) => Some(*step),
        _ => None,
    });
    Ok(Trial { step: begun.unwrap_or(Step::Import), reports, said, ended })
}
