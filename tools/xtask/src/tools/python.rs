//! The Pythons of this machine, and virtual environments that are made once and kept for the next run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::process::{Failure, at, step};
use crate::project;

const INSTALL_VENV: &str =
    "apt-get install python3 python3-venv   # or your system's package of Python 3.9 or newer";

/// Type checkers, of fixed versions: a newer one may find more.
pub const MYPY: &str = "mypy==1.18.2";
/// The extra brings the Node that it runs on.
pub const PYRIGHT: &str = "pyright[nodejs]==1.1.414";

/// The minor versions of Python 3 that the Python SDK is for, newest first.
const MINORS: std::ops::RangeInclusive<u32> = 9..=13;

/// The Python that virtual environments are made from: `TENON_PYTHON`, or `python3`.
pub fn system() -> String {
    env::var("TENON_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// A Python on this machine.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// Its version: `3.13`.
    pub version: String,
    program: OsString,
}

/// Every Python of this machine that the Python SDK is for, newest first: on the `PATH`, or installed by pyenv.
///
/// # Errors
/// [`Failure::Missing`] if there is none.
pub fn interpreters() -> Result<Vec<Interpreter>, Failure> {
    let mut found: Vec<Interpreter> = MINORS.rev().filter_map(interpreter).collect();
    // A system may have `python3` alone, without its version as a name.
    if found.is_empty() {
        found.extend(MINORS.rev().find_map(|minor| asked(minor, system().into())));
    }
    if found.is_empty() {
        return Err(Failure::Missing {
            program: format!("a Python from 3.{} to 3.{}", MINORS.start(), MINORS.end()),
            install: INSTALL_VENV.to_owned(),
        });
    }
    Ok(found)
}

/// The newest of them.
pub fn newest() -> Result<Interpreter, Failure> {
    // It answers with one at least.
    interpreters().map(|mut found| found.swap_remove(0))
}

fn interpreter(minor: u32) -> Option<Interpreter> {
    let name = format!("python3.{minor}");
    let pyenv =
        env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()).into_iter().flatten();
    let installed =
        versions.flatten().map(|version| version.path().join("bin").join(&name)).filter(|path| path.exists());
    // A shim of pyenv lies on the `PATH` also for versions that it would refuse to run.
    [OsString::from(&name)]
        .into_iter()
        .chain(installed.map(OsString::from))
        .find_map(|program| asked(minor, program))
}

/// The program, if it is a Python of that version.
fn asked(minor: u32, program: OsString) -> Option<Interpreter> {
    let version = format!("3.{minor}");
    let says =
        step(&program).args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).quietly().read();
    says.is_ok_and(|says| says.trim() == version).then_some(Interpreter { version, program })
}

/// A virtual environment.
pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// The environment of a name with these requirements. It is made anew only when they change.
    pub fn with(name: &str, requirements: &[&str]) -> Result<Self, Failure> {
        Self::made(name, system().into(), requirements)
    }

    /// The same for one of the Pythons of this machine.
    pub fn of(interpreter: &Interpreter, name: &str, requirements: &[&str]) -> Result<Self, Failure> {
        Self::made(&format!("{name}-{}", interpreter.version), interpreter.program.clone(), requirements)
    }

    fn made(name: &str, python: OsString, requirements: &[&str]) -> Result<Self, Failure> {
        let folder = project::cache("venv").join(name);
        let venv = Venv { folder };
        let stamp = venv.folder.join("requirements.txt");
        // An environment goes on with the Python that it was made with, whatever has come in its place.
        let wanted = format!("# {}\n{}", python.to_string_lossy(), requirements.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
            return Ok(venv);
        }
        if venv.folder.exists() {
            fs::remove_dir_all(&venv.folder).map_err(at(&venv.folder))?;
        }
        eprintln!("making the Python environment `{name}`: {}", requirements.join(" "));
        step(python).args(["-m", "venv"]).arg(&venv.folder).run().map_err(|failure| match failure {
            // Debian ships Python without the module, and says so only in passing.
            Failure::Failed { .. } => Failure::Missing {
                program: "the venv module of Python".to_owned(),
                install: INSTALL_VENV.to_owned(),
            },
            other => other,
        })?;
        if !requirements.is_empty() {
            venv.pip(requirements.iter().copied())?;
        }
        fs::write(&stamp, wanted).map_err(at(&stamp))?;
        Ok(venv)
    }

    /// The environment's own Python.
    pub fn python(&self) -> PathBuf {
        self.program("python")
    }

    /// A program that a package installed.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The `PATH` with the environment's programs before all others.
    pub fn path(&self) -> OsString {
        let mut path = self.folder.join("bin").into_os_string();
        if let Some(rest) = env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        path
    }

    /// Installs packages.
    pub fn pip<S: AsRef<std::ffi::OsStr>>(
        &self,
        packages: impl IntoIterator<Item = S>,
    ) -> Result<(), Failure> {
        step(self.python())
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages)
            .run()
    }

    /// Installs a wheel of ours in place of the one of an earlier run, which may have the same version.
    pub fn put(&self, wheel: &std::path::Path) -> Result<(), Failure> {
        self.pip(["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()])
    }

    /// Runs tests with pytest, which leaves nothing behind in the folder.
    pub fn pytest(&self) -> crate::process::Step {
        step(self.python())
            .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .env("PYTHONDONTWRITEBYTECODE", "1")
    }
}
