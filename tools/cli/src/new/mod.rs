//! `tenon new`: makes a project for a device.

mod files;
mod name;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::Answer;
use files::Project;
use name::Name;

const AFTER: &str = "\
The device has stubs on host memory: allocation, copies, streams, and events. They work and pass
`tenon check`. Replace their bodies by calls of your driver.

The project contains the plugin, its tests, a wheel that the hosts find once it is installed, and a
CI file. For ONNX Runtime it also has an operator. In C and C++ a project for PaddlePaddle alone
needs nothing of Tenon but the command `tenon`, for its tests. Others depend on a checkout of Tenon.

Examples:
  tenon new my-npu                          in Rust, into the folder `my-npu`
  tenon new my-npu --lang c                 in C
  tenon new my-npu --lang cpp --folder sdk  in C++, into the folder `sdk`
  tenon new my-npu --host paddle,onnxruntime
                                            for both hosts, in one library
  tenon new my-npu --tenon ../tenon         with another checkout of Tenon

Exit status: 0 if the project was made, 1 if not, 2 for wrong options and names.";

/// Makes a project for a device of PaddlePaddle and ONNX Runtime
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Options {
    /// The name of the project; `my-npu` becomes the device type `my_npu`
    name: Name,

    /// The language of the device
    #[arg(long, value_name = "LANG", value_enum, default_value = "rust")]
    lang: Language,

    /// The hosts that the device is for, separated by commas
    #[arg(long, value_name = "HOST", value_enum, value_delimiter = ',', default_value = "paddle")]
    host: Vec<Host>,

    /// The folder of the project, which must be empty or not exist [default: the name]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// The checkout of Tenon that a project in Rust or for ONNX Runtime depends on [default: the one that this command was built from]
    #[arg(long, value_name = "PATH")]
    tenon: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    C,
    Cpp,
}

/// A host that loads a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Host {
    Paddle,
    Onnxruntime,
}

impl Host {
    const ALL: &[Self] = &[Self::Paddle, Self::Onnxruntime];

    fn name(self) -> &'static str {
        match self {
            Self::Paddle => "PaddlePaddle",
            Self::Onnxruntime => "ONNX Runtime",
        }
    }

    /// Returns the name with the releases.
    fn with_releases(self) -> &'static str {
        match self {
            Self::Paddle => "PaddlePaddle 2.6 to 3.3",
            Self::Onnxruntime => "ONNX Runtime from 1.24 on",
        }
    }
}

/// A project that cannot be made.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    #[error("`{}` exists and is not empty", folder.display())]
    #[diagnostic(help("nothing was written; choose another folder with --folder"))]
    Exists { folder: PathBuf },
    #[error("`{}` is not a checkout of Tenon: it has no file `{CRATE}`", path.display())]
    #[diagnostic(help("nothing was written; `--tenon PATH` names the root of a checkout"))]
    NotTenon { path: PathBuf },
    #[error("the checkout of Tenon that this command was built from is no longer at `{}`", path.display())]
    #[diagnostic(help("nothing was written; name another checkout with `--tenon PATH`"))]
    Moved { path: PathBuf },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The file by which a checkout is recognised.
const CRATE: &str = "sdk-rs/Cargo.toml";
/// The checkout of which this command was built.
const BUILT_FROM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

pub fn run(options: &Options) -> Result<Answer, Failure> {
    let folder = options.folder.clone().unwrap_or_else(|| options.name.to_string().into());
    let needs_tenon = options.lang == Language::Rust || options.host.contains(&Host::Onnxruntime);
    let tenon = needs_tenon.then(|| checkout(options.tenon.as_deref(), Path::new(BUILT_FROM))).transpose()?;
    check_vacant(&folder)?;
    let project = Project::new(&options.name, options.lang, &options.host, tenon.as_deref());
    for file in project.files() {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, file.text))
            .map_err(|source| Failure::Write { path: path.clone(), source })?;
    }
    Ok(Answer::done(next_steps(&project, &folder)))
}

/// Returns the root of the checkout for projects in Rust.
fn checkout(wanted: Option<&Path>, built_from: &Path) -> Result<PathBuf, Failure> {
    let path = wanted.unwrap_or(built_from).to_owned();
    match path.canonicalize() {
        Ok(root) if root.join(CRATE).is_file() => Ok(root),
        _ if wanted.is_some() => Err(Failure::NotTenon { path }),
        _ => Err(Failure::Moved { path }),
    }
}

/// Fails unless the folder is empty or does not exist.
fn check_vacant(folder: &Path) -> Result<(), Failure> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(Failure::Exists { folder: folder.to_owned() }),
        Err(source) => Err(Failure::Write { path: folder.to_owned(), source }),
    }
}

fn next_steps(project: &Project, folder: &Path) -> String {
    let mut text = format!(
        "{}: the device `{}` in {}\n\n",
        folder.display(),
        project.device_type(),
        project.language().name()
    );
    let steps = [
        (format!("cd {}", folder.display()), ""),
        (project.check().to_owned(), "tests it against the contract of a device"),
        ("pip install .".to_owned(), "installs it"),
    ];
    let doctor = ("tenon doctor".to_owned(), "says whether PaddlePaddle finds it");
    let tests = ("pytest".to_owned(), "tests it in the installed hosts");
    let last = if project.has(Host::Paddle) { doctor } else { tests };
    for (command, purpose) in steps.into_iter().chain([last]) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", format!("  {command:<16}{purpose}").trim_end());
    }
    text + "\nThe README has more.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkout_that_is_gone_is_told_from_a_wrong_one() {
        let gone = Path::new("/nowhere");
        assert!(matches!(checkout(None, gone), Err(Failure::Moved { .. })));
        assert!(matches!(checkout(Some(gone), gone), Err(Failure::NotTenon { .. })));
        assert!(checkout(None, Path::new(BUILT_FROM)).is_ok());
    }
}
