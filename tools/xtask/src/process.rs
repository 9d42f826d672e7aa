//! Runs programs, and reports missing ones with the command that installs them.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::project;
use crate::tools::{self, left_out};

/// A program to run, by default in the root of the repository.
pub struct Step {
    command: Command,
    errors: fn() -> Stdio,
}

/// Creates a step that runs a program. Its environment has the fetched tools on the `PATH`, names a fetched libclang, does not have the build folders
/// of cargo on the path of libraries, disables backtraces, and names the file that records skipped tests, if tests may be
/// skipped.
pub fn step(program: impl AsRef<OsStr>) -> Step {
    let mut command = Command::new(program);
    command.current_dir(project::root()).stdin(Stdio::null());
    command.env("PATH", project::search_path()).env("RUST_BACKTRACE", "0");
    command.env("LD_LIBRARY_PATH", project::library_path());
    let libclang = project::fetched_tools().join(tools::LIBCLANG);
    if libclang.exists() {
        command.env("LIBCLANG_PATH", libclang);
    }
    match left_out::file() {
        Some(file) => command.env(left_out::VARIABLE, file),
        None => command.env_remove(left_out::VARIABLE),
    };
    Step { command, errors: Stdio::inherit }
}

/// Creates a step that runs the same cargo that started this command.
pub fn cargo() -> Step {
    step(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Step {
    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working folder.
    pub fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Makes `read` discard standard error.
    pub fn quietly(mut self) -> Self {
        self.errors = Stdio::null;
        self
    }

    /// Replaces the whole environment with these variables.
    pub fn env_only<V: AsRef<OsStr>>(mut self, variables: impl IntoIterator<Item = (V, V)>) -> Self {
        self.command.env_clear().envs(variables);
        self
    }

    fn text(&self) -> String {
        let program = Path::new(self.command.get_program());
        let mut text = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
        for argument in self.command.get_args() {
            text.push(' ');
            text.push_str(&argument.to_string_lossy());
        }
        text
    }

    fn not_started(&self, source: io::Error) -> Failure {
        let program = self.command.get_program().to_string_lossy().into_owned();
        match source.kind() {
            io::ErrorKind::NotFound => tools::missing(&program),
            _ => Failure::Start { program, source },
        }
    }

    /// Runs the program. Its output goes to the terminal.
    pub fn run(mut self) -> Result<(), Failure> {
        let status = self.command.status().map_err(|source| self.not_started(source))?;
        if status.success() { Ok(()) } else { Err(Failure::Failed { command: self.text(), status }) }
    }

    /// Runs the program and prints its output at the end, so that outputs of parallel steps do not mix.
    pub fn run_beside_others(mut self, title: &str) -> Result<(), Failure> {
        let output = self.command.output().map_err(|source| self.not_started(source))?;
        let said =
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        eprintln!("{title}\n{}", said.trim_end());
        if output.status.success() {
            Ok(())
        } else {
            Err(Failure::Failed { command: self.text(), status: output.status })
        }
    }

    /// Runs the program and returns its standard output.
    pub fn read(self) -> Result<String, Failure> {
        self.read_up_to(0)
    }

    /// Runs a program whose exit status up to `last` is an answer, and returns its standard output.
    pub fn read_up_to(mut self, last: i32) -> Result<String, Failure> {
        let output =
            self.command.stderr((self.errors)()).output().map_err(|source| self.not_started(source))?;
        if output.status.code().is_some_and(|code| (0..=last).contains(&code)) {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(Failure::Failed { command: self.text(), status: output.status })
        }
    }
}
