//! Installed Python interpreters, and cached virtual environments.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;

use super::system_python;
use crate::failure::{Failure, at};
use crate::process::step;
use crate::project;

const INSTALL_VENV: &str =
    "apt-get install python3 python3-venv   # or your system's package of Python 3.9 or newer";

/// Type checkers with fixed versions, because a newer one may report more errors.
pub const MYPY: &str = "mypy==1.18.2";
/// The extra installs Node.js, which pyright needs.
pub const PYRIGHT: &str = "pyright[nodejs]==1.1.414";

/// The minor versions of Python 3 that the Python SDK supports, newest first.
const MINORS: std::ops::RangeInclusive<u32> = 9..=13;

/// An installed Python interpreter.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The version, such as `3.13`.
    pub version: String,
    program: OsString,
}

/// Returns all supported Python interpreters on the `PATH` or of pyenv, newest first.
///
/// # Errors
/// [`Failure::Missing`] if there is none.
pub fn interpreters() -> Result<Vec<Interpreter>, Failure> {
    let mut found: Vec<Interpreter> = MINORS.rev().filter_map(interpreter).collect();
    // Some systems have only `python3`, without a name that contains the version.
    if found.is_empty() {
        found.extend(MINORS.rev().find_map(|minor| asked(minor, system_python().into())));
    }
    if found.is_empty() {
        return Err(Failure::Missing {
            program: format!("a Python from 3.{} to 3.{}", MINORS.start(), MINORS.end()),
            install: INSTALL_VENV.to_owned(),
        });
    }
    Ok(found)
}

/// Returns the newest supported Python interpreter.
pub fn newest() -> Result<Interpreter, Failure> {
    // The list is never empty.
    interpreters().map(|mut found| found.swap_remove(0))
}

fn interpreter(minor: u32) -> Option<Interpreter> {
    let name = format!("python3.{minor}");
    let pyenv =
        env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()).into_iter().flatten();
    let installed =
        versions.flatten().map(|version| version.path().join("bin").join(&name)).filter(|path| path.exists());
    // pyenv puts shims on the `PATH` even for versions that it refuses to run.
    [OsString::from(&name)]
        .into_iter()
        .chain(installed.map(OsString::from))
        .find_map(|program| asked(minor, program))
}

/// Returns the interpreter if the program is a Python of this version.
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
    /// Returns the environment with a name and these requirements. It is recreated only if they change.
    pub fn with(name: &str, requirements: &[&str]) -> Result<Self, Failure> {
        Self::made(name, system_python().into(), requirements)
    }

    /// Does the same as `with` for a given Python interpreter.
    pub fn of(interpreter: &Interpreter, name: &str, requirements: &[&str]) -> Result<Self, Failure> {
        Self::made(&format!("{name}-{}", interpreter.version), interpreter.program.clone(), requirements)
    }

    fn made(name: &str, python: OsString, requirements: &[&str]) -> Result<Self, Failure> {
        let root = project::cache("venv");
        let venv = Venv { folder: root.join(name) };
        // Parts that run at the same time may need the same environment.
        fs::create_dir_all(&root).map_err(at(&root))?;
        let lock = root.join(format!("{name}.lock"));
        let _locked = File::create(&lock).and_then(|file| file.lock().map(|()| file)).map_err(at(&lock))?;
        let stamp = venv.folder.join("requirements.txt");
        // The stamp names the Python too: an environment keeps using the Python that it was created with.
        let wanted = format!("# {}\n{}", python.to_string_lossy(), requirements.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
            return Ok(venv);
        }
        if venv.folder.exists() {
            fs::remove_dir_all(&venv.folder).map_err(at(&venv.folder))?;
        }
        eprintln!("creating the Python environment `{name}`: {}", requirements.join(" "));
        step(python).args(["-m", "venv"]).arg(&venv.folder).run().map_err(|failure| match failure {
            // Debian packages Python without this module, and its error message is easy to overlook.
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

    /// Returns the Python of the environment.
    pub fn python(&self) -> PathBuf {
        self.program("python")
    }

    /// Returns the path of a program that a package installed.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Returns the `PATH` with the programs of the environment first.
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

    /// Installs a built wheel. Replaces the wheel of an earlier run, which may have the same version.
    pub fn put(&self, wheel: &std::path::Path) -> Result<(), Failure> {
        self.pip(["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()])
    }

    /// Creates a step that runs pytest without writing caches to the folder.
    pub fn pytest(&self) -> crate::process::Step {
        step(self.python())
            .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .env("PYTHONDONTWRITEBYTECODE", "1")
    }
}
