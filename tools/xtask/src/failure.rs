//! The failures of a step.

use std::io;
use std::path::Path;

use miette::Diagnostic;
use thiserror::Error;

/// The reason for which a step failed.
#[derive(Debug, Error, Diagnostic)]
pub enum Failure {
    /// The program is not installed.
    #[error("`{program}` is not installed")]
    Missing {
        /// The program.
        program: String,
        /// The command that installs it.
        #[help]
        install: String,
    },
    /// Required programs are missing.
    #[error("{} missing:\n{}", if lines.len() == 1 { "one requirement is" } else { "some requirements are" }, lines.join("\n"))]
    Requirements {
        /// One line per program: its name and the command that installs it.
        lines: Vec<String>,
        /// A hint for other systems.
        #[help]
        hint: String,
    },
    /// The program could not be started.
    #[error("cannot start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The program returned a failure.
    #[error("`{command}` failed with {status}")]
    Failed {
        /// The program and its arguments.
        command: String,
        /// The exit status.
        status: std::process::ExitStatus,
    },
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Any other failure, with its message.
    #[error("{0}")]
    Wrong(String),
}

/// Converts an I/O error to a failure with the path of the file.
pub fn at(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File { path: path.clone(), source }
}
