//! Searches for all tools in parallel. It takes less than a second and runs before anything is compiled.

use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use super::{Source, Start, TOOLS, Tool, system_python};
use crate::failure::Failure;
use crate::project;

/// The state of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Installed on the machine.
    Here,
    /// Fetched to `target/tenon/tools` by an earlier run.
    Fetched,
    /// Not available yet, but it can be fetched from PyPI.
    ToFetch,
    /// Not available.
    Missing,
}

/// The state of each tool, in the order of the table.
pub struct Survey(pub Vec<(&'static Tool, State)>);

impl Survey {
    /// Searches for all tools in parallel.
    pub fn take() -> Survey {
        let states = thread::scope(|scope| {
            let looks: Vec<_> = TOOLS.iter().map(|tool| scope.spawn(|| state(tool))).collect();
            looks.into_iter().map(|look| look.join().unwrap_or(State::Missing)).collect::<Vec<_>>()
        });
        Survey(TOOLS.iter().zip(states).collect())
    }

    /// Fails if a requirement is missing, or, with `complete`, if any tool is missing.
    ///
    /// # Errors
    /// [`Failure::Requirements`] names all missing tools, with the commands that install them.
    pub fn require(&self, complete: bool) -> Result<(), Failure> {
        let required = |tool: &Tool| complete || matches!(tool.source, Source::Machine(_));
        let lines: Vec<String> = self
            .0
            .iter()
            .filter(|(tool, state)| *state != State::Here && required(tool))
            .map(|(tool, _)| format!("  {:<27} {}", tool.name, tool.install))
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let hint = "the commands are for Debian and Ubuntu; packages of other systems have similar names. \
                    To use another Python than `python3`, set TENON_PYTHON.";
        Err(Failure::Requirements { lines, hint: hint.to_owned() })
    }

    /// Returns the tools in a state.
    pub fn within(&self, state: State) -> impl Iterator<Item = &'static Tool> {
        self.0.iter().filter(move |(_, found)| *found == state).map(|(tool, _)| *tool)
    }
}

fn state(tool: &Tool) -> State {
    match &tool.source {
        Source::Machine(probe) if probe() => State::Here,
        Source::Machine(_) => State::Missing,
        _ if is_here(tool) => State::Here,
        Source::System | Source::SystemLibrary => State::Missing,
        Source::Pypi(..) if project::fetched_tools().join(tool.name).exists() => State::Fetched,
        Source::Pypi(..) => State::ToFetch,
    }
}

/// Returns true if a tool is installed on the machine. Fetched tools do not count.
fn is_here(tool: &Tool) -> bool {
    if let Source::Pypi(_, Start::Library(_)) | Source::SystemLibrary = tool.source {
        return has_library(tool.name);
    }
    iter::once(tool.name).chain(tool.alternative).any(|name| succeeds(name, &["--version"], ""))
}

/// Returns true if a library, or a release of it such as `libclang-14.so.1`, is in a folder of the system.
fn has_library(name: &str) -> bool {
    let (stem, _) = name.split_once('.').unwrap_or((name, ""));
    let is_it = |file: &str| {
        let rest = file.strip_prefix(stem).unwrap_or_default();
        let release =
            rest.strip_prefix('-').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        release.starts_with(".so")
    };
    let names_within = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let llvm = names_within(Path::new("/usr/lib")).into_iter().filter(|name| name.starts_with("llvm"));
    let llvm = llvm.map(|name| Path::new("/usr/lib").join(name).join("lib"));
    let usual = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    llvm.chain(usual).chain([triple]).any(|folder| names_within(&folder).iter().any(|name| is_it(name)))
}

fn succeeds(program: &str, arguments: &[&str], input: &str) -> bool {
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = spawned else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // Errors are ignored: a program may end without reading its input, and only the exit status matters.
        let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

pub(super) fn git() -> bool {
    succeeds("git", &["--version"], "")
}

/// Returns true if the program that the generator formats its Rust with can be run.
pub(super) fn rustfmt() -> bool {
    succeeds("rustfmt", &["--version"], "")
}

/// Returns true if the compiler can compile and link a program with the C library.
pub(super) fn c() -> bool {
    let program = "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n";
    succeeds("cc", &["-x", "c", "-", "-o", "/dev/null"], program)
}

pub(super) fn cxx() -> bool {
    succeeds("c++", &["-x", "c++", "-fsyntax-only", "-"], "#include <cstddef>\n#include <new>\n")
}

pub(super) fn python() -> bool {
    python_says("import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 12))")
}

pub(super) fn venv() -> bool {
    // Debian packages the module `ensurepip` separately from `venv`.
    python_says("import ensurepip, venv")
}

pub(super) fn pip() -> bool {
    python_says("import pip")
}

fn python_says(code: &str) -> bool {
    succeeds(&system_python(), &["-c", code], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(states: &[(&str, State)]) -> Survey {
        Survey(states.iter().map(|(name, state)| (super::super::find(name).unwrap(), *state)).collect())
    }

    fn lines(result: Result<(), Failure>) -> Vec<String> {
        match result {
            Err(Failure::Requirements { lines, .. }) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn require_lists_all_missing_requirements() {
        let found = survey(&[
            ("git", State::Missing),
            ("cc", State::Here),
            ("c++", State::Missing),
            ("cmake", State::ToFetch),
            ("valgrind", State::Missing),
        ]);
        let lines = lines(found.require(false));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("git") && lines[0].ends_with("apt-get install git"), "{lines:?}");
        assert!(lines[1].contains("c++") && lines[1].ends_with("apt-get install g++"), "{lines:?}");
    }

    #[test]
    fn require_complete_rejects_fetched_and_missing_tools() {
        let found = survey(&[
            ("git", State::Here),
            ("clang", State::Fetched),
            ("cmake", State::ToFetch),
            ("valgrind", State::Missing),
        ]);
        assert!(found.require(false).is_ok());
        assert_eq!(lines(found.require(true)).len(), 3);
    }

    #[test]
    fn succeeds_missing_or_failing_program_returns_false() {
        assert!(succeeds("cc", &["--version"], ""));
        assert!(!succeeds("no-such-program", &["--version"], ""));
        assert!(!succeeds("cc", &["-x", "c", "-fsyntax-only", "-"], "this is no C"));
    }
}
