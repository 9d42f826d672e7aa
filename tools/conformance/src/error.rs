//! Errors that prevent a run.

use std::path::PathBuf;

/// The reason why the cases could not run. An error of a plugin is not such an error but a failed case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plugin was not loaded.
    #[error("{message}")]
    Load {
        /// The loader's message.
        message: String,
    },
    /// There is no such device in Tenon.
    #[error("there is no built-in device `{name}`; the only one is `cpu`")]
    UnknownBuiltin {
        /// The name.
        name: String,
    },
    /// There is no such release.
    #[error("there is no release `{name}`; the spec has {known}")]
    UnknownRelease {
        /// The name.
        name: String,
        /// The releases of the spec.
        known: String,
    },
    /// No case has this text in its name.
    #[error("no case matches `{filter}` at level `{level}`; `--list` shows all")]
    NoCases {
        /// The name.
        filter: String,
        /// Up to which level.
        level: &'static str,
    },
    /// The plugin ended the process while it was loaded.
    #[error("the process {how} while the plugin was loaded{output}")]
    DiedLoading {
        /// The result.
        how: String,
        /// The last that it printed, on separate lines.
        output: String,
    },
    /// The plugin called a function of its host that is not there.
    #[error(
        "the plugin called `{symbol}`, which no loaded library has: if it is PaddlePaddle's, name the Python that has \
         PaddlePaddle, `tenon check --host PYTHON`"
    )]
    NeedsHost {
        /// The function.
        symbol: String,
    },
    /// The plugin called a function that the PaddlePaddle of `--host` does not have.
    #[error(
        "the plugin called `{symbol}`, which neither the PaddlePaddle of `--host` nor another loaded library has: the \
         plugin may have been built for another release of PaddlePaddle"
    )]
    HostLacks {
        /// The function.
        symbol: String,
    },
    /// The libraries of the host cannot be loaded.
    #[error("--host: {0}")]
    Host(#[from] tenon_loader::PaddleError),
    /// A Python cannot run the cases for providers.
    #[error("`{}` cannot run the cases: {reason}", python.display())]
    Python {
        /// The Python.
        python: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The plugin could not be started.
    #[error("the plugin was loaded, but did not start: {message}{output}")]
    Start {
        /// The error.
        message: String,
        /// The last that it printed, on separate lines.
        output: String,
    },
    /// The program that runs the cases cannot be started.
    #[error("`{}`, which runs the cases, cannot be started: {source}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system cannot start the thread that reads the output of that program.
    #[error("cannot start a thread: {source}")]
    Thread {
        /// The system's error.
        source: std::io::Error,
    },
    /// The process that runs the cases sent an invalid reply.
    #[error("the process that runs the cases cannot be understood: {reason}")]
    Protocol {
        /// The problem.
        reason: String,
    },
    /// A report cannot be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
