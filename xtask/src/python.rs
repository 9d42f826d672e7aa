//! Virtual environments, made once and kept for the next run.

use std::fs;
use std::path::PathBuf;

use crate::process::{Failure, at, step};
use crate::project;

const INSTALL_VENV: &str =
    "apt-get install python3 python3-venv   # or your system's package of Python 3.9 or newer";

/// A virtual environment.
pub struct Venv {
    folder: PathBuf,
}

/// The Python that virtual environments are made from: `TENON_PYTHON`, or `python3`.
pub fn system() -> String {
    std::env::var("TENON_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

impl Venv {
    /// The environment of a name with these requirements. It is made anew only when they change.
    pub fn with(name: &str, requirements: &[&str]) -> Result<Self, Failure> {
        let folder = project::cache("venv").join(name);
        let venv = Venv { folder };
        let stamp = venv.folder.join("requirements.txt");
        let wanted = requirements.join("\n");
        if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
            return Ok(venv);
        }
        if venv.folder.exists() {
            fs::remove_dir_all(&venv.folder).map_err(at(&venv.folder))?;
        }
        eprintln!("making the Python environment `{name}`: {}", requirements.join(" "));
        step(system()).args(["-m", "venv"]).arg(&venv.folder).installed_by(INSTALL_VENV).run().map_err(
            |failure| match failure {
                // Debian ships Python without the module, and says so only in passing.
                Failure::Failed { .. } => Failure::Missing {
                    program: "the venv module of Python".to_owned(),
                    install: format!("install it: {INSTALL_VENV}"),
                },
                other => other,
            },
        )?;
        if !requirements.is_empty() {
            venv.pip(requirements.iter().copied())?;
        }
        fs::write(&stamp, wanted).map_err(at(&stamp))?;
        Ok(venv)
    }

    /// The environment's own Python.
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin").join("python")
    }

    /// A program that a package installed.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
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
}
