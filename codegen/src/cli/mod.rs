//! The command line: options, output and errors.

mod abi;
mod diff;
mod explain;
mod exports;
mod generate;
mod import;
mod places;
mod table;

use crate::text::quoted;
use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::model::{Interface, Spec};
use crate::source::Folder;
use crate::{CheckedSpec, InvalidSpec, diagnostic};

/// No errors.
const DONE: u8 = 0;
/// The spec has mistakes, outputs are stale, or there is no such name.
const REFUSED: u8 = 1;
/// The command itself could not do its work: a missing folder, an unwritable path, a wrong option.
const BROKEN: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  codegen                                bring all outputs up to date
  codegen --check                        fail where an output is stale, missing or stray
  codegen --spec examples/custom-spec/spec
                                         another spec; outputs go beside its folder
  codegen abi device                     where each function is, in every release
  codegen diff 3.2 3.3                   what changed, and what it breaks
  codegen explain device_memory_set      all that is known of a function, a type or a rule
  codegen import zlib.h --spec my-spec   a draft of a spec, from a C header

Exit status: 0 done, 1 mistakes in the spec or stale outputs, 2 anything else.";

/// Reads the API spec, holds it to the rules, and writes the C headers, the reference and the JSON Schema from it.
#[derive(Debug, Parser)]
#[command(name = "codegen", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    generate: generate::Options,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Folder of the spec; if left out, the nearest `spec` here or further up
    #[arg(long, value_name = "DIR", global = true)]
    spec: Option<PathBuf>,
    /// The format of answers and diagnostics
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs, on standard output
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show where each function is in the table: offset, size and release
    Abi(abi::Options),
    /// Explain what changed between two releases, and what that breaks
    Diff(diff::Options),
    Import(import::Options),
    /// Tell all that is known of a function, a type, an interface or a rule such as E014
    Explain(explain::Options),
}

/// The result of a command, and its exit status.
struct Answer {
    text: String,
    code: u8,
}

impl Answer {
    fn done(text: String) -> Self {
        Answer { text, code: DONE }
    }

    /// Creates the answer of a command that failed; its messages were written to standard error.
    fn refused() -> Self {
        Answer { text: String::new(), code: REFUSED }
    }

    fn json(value: &serde_json::Value, code: u8) -> Self {
        Answer { text: format!("{value:#}\n"), code }
    }
}

/// The reason for which the command failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("there is no spec in `{}`", .0.display())]
    NoSpec(PathBuf),
    #[error("there is no folder `spec` here or further up")]
    NoSpecAround,
    #[error("cannot read `{}`", path.display())]
    Template { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Exports(#[from] exports::ExportsError),
    #[error("cannot write `{}`", path.display())]
    Draft { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Header(#[from] crate::import::clang::ReadError),
    #[error(transparent)]
    Output(#[from] crate::out::OutputError),
    #[error(transparent)]
    Emit(#[from] crate::emit::EmitError),
    #[error("{message}")]
    Unknown { message: String, help: String },
}

impl Failure {
    /// Returns what to do about it.
    fn help(&self) -> Cow<'_, str> {
        match self {
            Failure::NoSpec(_) => "a spec is a folder with a `spec.yaml`; name it with `--spec DIR`".into(),
            Failure::NoSpecAround => {
                "run the command inside of the project, or name the folder with `--spec DIR`".into()
            }
            Failure::Template { .. } => {
                "`outputs.summary.template` in `spec.yaml` names it, relative to the output root".into()
            }
            Failure::Exports(_) => {
                "`outputs.exports` in `spec.yaml` names the crate and how it is read".into()
            }
            Failure::Draft { .. } => "`--spec` names the folder of the draft".into(),
            Failure::Header(error) => error.help().into(),
            Failure::Output(error) => error.help().into(),
            Failure::Emit(error) => error.help().into(),
            Failure::Unknown { help, .. } => help.into(),
        }
    }
}

/// Runs the command.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    if cli.command.is_some() && cli.generate.given() {
        let message =
            "`--out`, `--check`, `--overwrite` and `--verbose` go with writing outputs, not with a question";
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    let answer = match cli.command {
        None => generate::run(&cli.common, &cli.generate),
        Some(Command::Abi(options)) => abi::run(&cli.common, &options),
        Some(Command::Diff(options)) => diff::run(&cli.common, &options),
        Some(Command::Import(options)) => import::run(&cli.common, &options),
        Some(Command::Explain(options)) => explain::run(&cli.common, &options),
    };
    match answer {
        Ok(answer) => {
            print(&answer.text);
            ExitCode::from(answer.code)
        }
        Err(failure) => {
            let code = if matches!(failure, Failure::Unknown { .. }) { REFUSED } else { BROKEN };
            eprintln!(
                "{}",
                diagnostic::render_failure(&failure, &failure.help(), colour(&std::io::stderr()))
            );
            ExitCode::from(code)
        }
    }
}

impl Common {
    /// Returns the spec's folder.
    fn folder(&self) -> Result<PathBuf, Failure> {
        match &self.spec {
            Some(folder) if is_spec(&folder.join("spec.yaml")) => Ok(folder.clone()),
            Some(folder) => Err(Failure::NoSpec(folder.clone())),
            None => nearest_spec().ok_or(Failure::NoSpecAround),
        }
    }

    /// Loads the spec; shows mistakes and returns `None` if there are any.
    fn load(&self) -> Result<Option<CheckedSpec>, Failure> {
        let folder = self.folder()?;
        match crate::load(&Folder::new(&folder)) {
            Ok(loaded) => Ok(Some(loaded)),
            Err(mistakes) => {
                self.show_mistakes(&mistakes, "nothing can be said");
                Ok(None)
            }
        }
    }

    fn show_mistakes(&self, mistakes: &InvalidSpec, consequence: &str) {
        if self.format == Format::Json {
            let mistakes = diagnostic::to_json(&mistakes.sources, &mistakes.diagnostics);
            print(
                &Answer::json(&serde_json::json!({ "status": "mistakes", "mistakes": mistakes }), REFUSED)
                    .text,
            );
            return;
        }
        eprint!("{}", mistakes.render(colour(&std::io::stderr())));
        let number = crate::text::count(mistakes.diagnostics.len(), "mistake");
        eprintln!("error: {number}; {consequence}");
    }
}

/// Finds the nearest folder `spec` in the current folder or above it. The path is relative to the current folder, so
/// that messages show short paths.
fn nearest_spec() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut up = PathBuf::new();
    here.ancestors().find_map(|_| {
        let folder = up.join("spec");
        up.push("..");
        is_spec(&folder.join("spec.yaml")).then_some(folder)
    })
}

/// Returns true if something other than a folder is there. If it is no plain file, reading it says so.
fn is_spec(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_dir())
}

/// Returns the name of a folder, also of one that is written as `.` or `..`.
fn folder_name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "spec".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the interface of a name; without one, the first table.
fn pick_interface<'a>(spec: &'a Spec, name: Option<&str>) -> Result<&'a Interface, Failure> {
    let names = || spec.interfaces.iter().map(|interface| interface.name.value.as_str());
    match name {
        Some(name) => spec.interface(name).ok_or_else(|| unknown("interface", name, names())),
        None => spec
            .interfaces
            .iter()
            .find(|interface| interface.table().is_some())
            .or(spec.interfaces.first())
            .ok_or_else(|| unknown("interface", "", names())),
    }
}

/// Names that can be listed on one line.
const FEW: usize = 8;

/// Returns the error for an unknown name; the help lists similar names.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    let near = crate::text::nearest_few(name, &known);
    let help = match quoted(near).as_slice() {
        [] if known.len() <= FEW => format!("there are {}", known.join(", ")),
        [] => "`codegen abi` lists every function".to_owned(),
        [one] => format!("did you mean {one}?"),
        several => format!("the nearest are {}", crate::text::enumerate(several)),
    };
    Failure::Unknown { message: format!("there is no {kind} `{name}`"), help }
}

fn colour(stream: &impl std::io::IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Formats a text in bold if standard output is a terminal with colours.
fn bold(text: &str) -> String {
    if std::io::stdout().is_terminal() && colour(&std::io::stdout()) {
        format!("\u{1b}[1m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Prints a text. Ignores errors, because the reader of the output may have closed it early: a closed pipe is no
/// failure.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
