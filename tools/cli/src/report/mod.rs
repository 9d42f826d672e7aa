//! `tenon report`: collects what a bug report needs in one file.

mod private;
mod system;

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use miette::Diagnostic;
use thiserror::Error;

use crate::Answer;

const AFTER: &str = "\
The file is Markdown: the system, environment variables that matter, and the output of `tenon doctor`,
of `tenon check` for each plugin, and of `tenon trace summary` for the last trace in this folder.
Names of folders are left out, except those of the system. Read the file before you send it.

Examples:
  tenon report                                   # PaddlePaddle of python3, and its plugins
  tenon report ./libmy_npu.so
  tenon report ./libmy_npu.so --paddle venv/bin/python --trace tenon-trace-7.json";

/// Collects what a bug report needs in one file.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<PathBuf>,
    /// The Python that PaddlePaddle is installed for
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// The trace to summarise; if left out, the newest `tenon-trace-*.json` in this folder
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Keep the names of folders
    #[arg(long)]
    paths: bool,
    /// The file to write, which must not exist
    #[arg(long, short, value_name = "FILE", default_value = "tenon-report.md")]
    output: PathBuf,
}

/// A report that was not written.
#[derive(Debug, Error, Diagnostic)]
pub enum ReportError {
    #[error("`{}` exists already", .0.display())]
    #[diagnostic(help("remove it, or name another file: `--output FILE`"))]
    Exists(PathBuf),
    #[error("`{}` cannot be written: {source}", .path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("this program cannot be started again: {0}")]
    Start(std::io::Error),
}

pub fn run(options: &Options) -> Result<Answer, ReportError> {
    let path = &options.output;
    // Made first: the commands below may take minutes.
    let mut file = File::create_new(path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => ReportError::Exists(path.clone()),
        _ => ReportError::Write { path: path.clone(), source },
    })?;
    let text = collect(options).inspect_err(|_| {
        // Empty, so that nothing is lost. A file that stays is named by the next attempt.
        let _ = std::fs::remove_file(path);
    })?;
    let text = if options.paths { text } else { private::without_folders(&text) };
    file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { path: path.clone(), source })?;
    Ok(Answer::done(format!("wrote {}; read it before you send it\n", path.display())))
}

fn collect(options: &Options) -> Result<String, ReportError> {
    let mut text = format!("# Report of tenon {}\n\n", env!("CARGO_PKG_VERSION"));
    text += &system::describe();
    let paths = |flag: &str, path: &Path| [flag.to_owned(), path.to_string_lossy().into_owned()];
    let mut doctor = vec!["doctor".to_owned()];
    doctor.extend(options.plugins.iter().map(|plugin| plugin.to_string_lossy().into_owned()));
    doctor.extend(options.paddle.iter().flat_map(|python| paths("--paddle", python)));
    text += &section(&doctor)?;
    for plugin in &options.plugins {
        let mut check = vec!["check".to_owned(), plugin.to_string_lossy().into_owned()];
        check.extend(options.paddle.iter().flat_map(|python| paths("--host", python)));
        text += &section(&check)?;
    }
    if let Some(trace) = options.trace.clone().or_else(newest_trace) {
        text += &section(&["trace".to_owned(), "summary".to_owned(), trace.to_string_lossy().into_owned()])?;
    }
    Ok(text)
}

/// Runs this program in a process of its own, since a plugin may end it, and returns its output as a section.
fn section(arguments: &[String]) -> Result<String, ReportError> {
    let program = std::env::current_exe().map_err(ReportError::Start)?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1")
        .output()
        .map_err(ReportError::Start)?;
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    // Indented, not fenced: the output may contain a fence.
    let lines =
        said.iter().flat_map(|text| text.lines()).map(|line| format!("    {line}").trim_end().to_owned());
    let lines = lines.collect::<Vec<_>>().join("\n");
    let status = output.status;
    Ok(format!("## tenon {}\n\n{lines}\n\nIt ended with {status}.\n\n", arguments.join(" ")))
}

/// Returns the trace in the current folder that was written last.
fn newest_trace() -> Option<PathBuf> {
    let entries = std::fs::read_dir(".").ok()?.filter_map(Result::ok);
    let traces = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("tenon-trace-") && name.ends_with(".json")
    });
    let newest =
        traces.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.file_name())));
    newest.max().map(|(_, name)| name.into())
}
