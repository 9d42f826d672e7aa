//! Packages in folders of their own: many releases beside each other in one environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::doctor::child;

/// A download that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(900);

/// Says which wheels a Python takes.
const TAG: &str = "import sys; print(sys.implementation.cache_tag)";

/// What is installed beside a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: what it needs is in the environment.
    Nothing,
    /// What it needs.
    Own,
}

/// Installs packages for a Python, each into a folder of its own.
pub struct Packages {
    python: PathBuf,
    root: PathBuf,
}

impl Packages {
    /// # Errors
    /// A sentence, if the Python does not start.
    pub fn of(python: &Path) -> Result<Self, String> {
        let ended = child::run(Command::new(python).args(["-c", TAG]), LIMIT)
            .map_err(|error| format!("`{}` cannot be started: {error}", python.display()))?;
        let tag = ended.stdout.trim();
        if tag.is_empty() {
            return Err(format!(
                "`{}` is not a Python: it {}",
                python.display(),
                child::describe(ended.status)
            ));
        }
        Ok(Self { python: python.into(), root: cache()?.join("tenon/packages").join(tag) })
    }

    /// Returns the folder with a package, which the first call installs, with further requirements.
    ///
    /// # Errors
    /// A sentence with what pip says.
    pub fn folder(&self, requirement: &str, others: &[&str], needs: Needs) -> Result<PathBuf, String> {
        let folder = self.root.join(requirement);
        if folder.is_dir() {
            return Ok(folder);
        }
        eprintln!("installing {requirement}");
        let partial = self.root.join(format!("{requirement}.{}", std::process::id()));
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        if needs == Needs::Nothing {
            pip.arg("--no-deps");
        }
        pip.arg("--target").arg(&partial).arg(requirement).args(others);
        let installed = child::run(&mut pip, LIMIT)
            .map_err(|error| format!("`{}` cannot be started: {error}", self.python.display()))
            .and_then(|ended| match ended.status {
                Some(status) if status.success() => Ok(()),
                _ => Err(format!("pip does not install `{requirement}`: {}", ended.stderr.trim())),
            })
            .and_then(|()| {
                // Another process may have installed it in the meantime.
                fs::rename(&partial, &folder)
                    .or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })
                    .map_err(|error| format!("`{}` cannot be written: {error}", folder.display()))
            });
        if partial.exists() {
            // A folder that cannot be removed does no harm: no other process uses its name.
            let _ = fs::remove_dir_all(&partial);
        }
        installed.map(|()| folder)
    }
}

/// Returns the folder for files that can be made again.
fn cache() -> Result<PathBuf, String> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from("XDG_CACHE_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| "there is no folder for packages: set XDG_CACHE_HOME".to_owned())
}
