//! `tenon report`: collects what a bug report needs in one file.

mod folders;
mod system;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use miette::Diagnostic;
use thiserror::Error;

use crate::{Answer, environment};
use folders::Folders;

const AFTER: &str = "\
The file is Markdown: the system, environment variables that matter, and the output of `tenon doctor`,
of `tenon check` for each plugin, and of `tenon trace summary` for the last trace in this folder.
Names of folders are left out, except those of the system, and so are the values of variables whose
names say that they are secrets or addresses. Read the file before you send it.

Examples:
  tenon report                                   # PaddlePaddle of python3, and its plugins
  tenon report ./libmy_npu.so
  tenon report ./libmy_npu.so --paddle venv/bin/python --trace tenon-trace-7.json
  tenon report ./libmy_ep.so --onnxruntime venv/bin/python";

/// Collects what a bug report needs in one file.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Libraries of plugins or providers
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<PathBuf>,
    /// The Python that PaddlePaddle is installed for
    #[arg(long, value_name = "PYTHON")]
    paddle: Option<PathBuf>,
    /// The Python that ONNX Runtime is installed for, to report on providers
    #[arg(long, value_name = "PYTHON", conflicts_with = "paddle")]
    onnxruntime: Option<PathBuf>,
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

impl Options {
    /// Returns the files that the options name.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.plugins
            .iter()
            .chain(&self.paddle)
            .chain(&self.onnxruntime)
            .chain(&self.trace)
            .chain([&self.output])
    }
}

/// A report that was not written.
#[derive(Debug, Error, Diagnostic)]
pub enum ReportError {
    #[error("`{}` exists already", .0.display())]
    #[diagnostic(help("remove it, or name another file: `--output FILE`"))]
    Exists(PathBuf),
    #[error("`{}` cannot be written: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("this program cannot be started again: {0}")]
    Start(io::Error),
}

pub fn run(options: &Options) -> Result<Answer, ReportError> {
    let path = &options.output;
    let write = |source: io::Error| match source.kind() {
        ErrorKind::AlreadyExists => ReportError::Exists(path.clone()),
        _ => ReportError::Write { path: path.clone(), source },
    };
    // Checked first: the commands below may take minutes. The file is made last, so that nothing stays if this
    // program is stopped.
    check_place(path).map_err(write)?;
    let text = collect(options)?;
    let mut file = File::create_new(path).map_err(write)?;
    file.write_all(text.as_bytes()).map_err(|source| {
        // What could not be written whole is no report. A file that stays is named by the next attempt.
        let _ = std::fs::remove_file(path);
        write(source)
    })?;
    Ok(Answer::done(format!("wrote {}; read it before you send it\n", path.display())))
}

/// Checks that a file can be made at a path.
fn check_place(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: the name is NUL-terminated.
    match unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn collect(options: &Options) -> Result<String, ReportError> {
    let arguments: Vec<String> = options.files().map(|path| path.to_string_lossy().into_owned()).collect();
    let variables: Vec<String> =
        std::env::vars_os().map(|(_, value)| value.to_string_lossy().into_owned()).collect();
    let folders = Folders::new(arguments.iter().map(String::as_str), variables.iter().map(String::as_str));
    let keep = options.paths;
    let shorten = |value: &str| if keep { value.to_owned() } else { folders.removed_from_value(value) };
    let shorten_text = |text: &str| if keep { text.to_owned() } else { folders.removed_from(text) };
    let system = system::describe(shorten);
    let sections = environment::without_secrets(&sections(options)?);
    Ok(format!("# Report of tenon {}\n\n{system}{}", env!("CARGO_PKG_VERSION"), shorten_text(&sections)))
}

/// Runs the other commands, and returns a section for each.
fn sections(options: &Options) -> Result<String, ReportError> {
    let mut text = String::new();
    // The options that name the host.
    let host = |of_paddle: &str| {
        let named = [(of_paddle, &options.paddle), ("--onnxruntime", &options.onnxruntime)];
        let given = named.into_iter().filter_map(|(flag, python)| Some((flag.to_owned(), python.as_ref()?)));
        given.flat_map(|(flag, python)| [flag, python.to_string_lossy().into_owned()]).collect::<Vec<_>>()
    };
    let mut doctor = vec!["doctor".to_owned()];
    doctor.extend(options.plugins.iter().map(|plugin| plugin.to_string_lossy().into_owned()));
    doctor.extend(host("--paddle"));
    text += &section(&doctor)?;
    for plugin in &options.plugins {
        let mut check = vec!["check".to_owned(), plugin.to_string_lossy().into_owned()];
        check.extend(host("--host"));
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
