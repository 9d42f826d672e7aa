//! The libraries of an installed PaddlePaddle, for plugins that import its symbols.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY};
use serde::{Deserialize, Serialize};
use tenon::device::Release;

use crate::library::reason;

/// Asks an interpreter for the path of its own library, and for the path and the version of PaddlePaddle, without
/// importing PaddlePaddle.
const QUERY: &str = r#"
import importlib.util, json, os, re, sys, sysconfig
sys.path[:] = [path for path in sys.path if path]
variables = sysconfig.get_config_vars()
folders = [variables.get("LIBDIR"), os.path.join(sys.base_prefix, "lib"), variables.get("LIBPL")]
names = [variables.get("INSTSONAME"), variables.get("LDLIBRARY")]
libraries = [os.path.join(folder, name) for folder in folders if folder for name in names if name and ".so" in name]
found = importlib.util.find_spec("paddle")
package = next(iter(found.submodule_search_locations or []), None) if found else None
version = ""
if package:
    try:
        with open(os.path.join(package, "version", "__init__.py")) as file:
            match = re.search(r"^full_version\s*=\s*['\"]([^'\"]+)", file.read(), re.MULTILINE)
            version = match.group(1) if match else ""
    except OSError:
        pass
libpython = next(filter(os.path.isfile, libraries), None)
print(json.dumps({"libpython": libpython, "package": package, "version": version}))
"#;

/// Most missing libraries to load in a row before the search ends.
const MOST_MISSING: usize = 64;

/// True after the libraries of a PaddlePaddle were loaded.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// Returns true if [`PaddleLibraries::open`] has loaded the libraries of a PaddlePaddle.
pub(crate) fn is_loaded() -> bool {
    IS_LOADED.load(Ordering::Relaxed)
}

/// An installed PaddlePaddle, which is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPaddle {
    /// The interpreter that it is installed for.
    pub python: PathBuf,
    /// The version, such as `3.3.1`; empty if it is unknown.
    pub version: String,
    /// The folder of the package `paddle`.
    pub package: PathBuf,
    /// The shared library of the interpreter; `None` for a statically linked interpreter.
    libpython: Option<PathBuf>,
}

/// The libraries of an installed PaddlePaddle, and of the Python that it is installed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaddleLibraries {
    /// The interpreter.
    pub python: PathBuf,
    /// The shared library of the interpreter; `None` for a statically linked interpreter.
    pub libpython: Option<PathBuf>,
    /// The path of `libpaddle.so`.
    pub libpaddle: PathBuf,
    /// Folders with the libraries that it depends on.
    folders: Vec<PathBuf>,
}

/// The reason for which the libraries of a PaddlePaddle cannot be found or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaddleError {
    /// The interpreter cannot be started.
    #[error("`{}` cannot be started: {source}", python.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The interpreter did not return the expected output.
    #[error("`{}` is not a Python that reports where its packages are: {said}", python.display())]
    NoAnswer {
        /// The interpreter.
        python: PathBuf,
        /// Its output.
        said: String,
    },
    /// The interpreter's environment has no PaddlePaddle.
    #[error(
        "`{}` has no PaddlePaddle with a `libpaddle.so`: name the Python of the environment that PaddlePaddle is \
         installed in", python.display()
    )]
    NoPaddle {
        /// The interpreter.
        python: PathBuf,
    },
    /// The dynamic linker failed to load a library.
    #[error("cannot load `{}`: {reason}", library.display())]
    Open {
        /// The library.
        library: PathBuf,
        /// The error of the dynamic linker.
        reason: String,
    },
}

/// The interpreter's output.
#[derive(Deserialize)]
struct Answer {
    libpython: Option<PathBuf>,
    package: Option<PathBuf>,
    version: String,
}

impl InstalledPaddle {
    /// Asks a Python interpreter for its PaddlePaddle.
    ///
    /// # Errors
    /// Any [`PaddleError`] except [`PaddleError::Open`].
    pub fn find(python: &Path) -> Result<Self, PaddleError> {
        let output = Command::new(python)
            .args(["-c", QUERY])
            .output()
            .map_err(|source| PaddleError::Start { python: python.into(), source })?;
        let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let said = if said.is_empty() { error.to_string() } else { said };
            PaddleError::NoAnswer { python: python.into(), said }
        })?;
        let Some(package) = answer.package else {
            return Err(PaddleError::NoPaddle { python: python.into() });
        };
        Ok(Self { python: python.into(), version: answer.version, package, libpython: answer.libpython })
    }

    /// Returns the release whose table this version has, if it is known.
    pub fn release(&self) -> Option<Release> {
        Release::ALL.into_iter().find(|release| {
            self.version
                .strip_prefix(release.name())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

impl PaddleLibraries {
    /// Asks a Python interpreter where the libraries of its PaddlePaddle are. Does not load them.
    ///
    /// # Errors
    /// Any [`PaddleError`] except [`PaddleError::Open`].
    pub fn find(python: &Path) -> Result<Self, PaddleError> {
        let InstalledPaddle { python, package, libpython, .. } = InstalledPaddle::find(python)?;
        // Before 2.5 the folder `base` was called `fluid`.
        let mut places =
            ["base", "fluid"].into_iter().map(|folder| package.join(folder).join("libpaddle.so"));
        let Some(libpaddle) = places.find(|library| library.is_file()) else {
            return Err(PaddleError::NoPaddle { python });
        };
        let folders = ["libs", "base"].map(|folder| package.join(folder)).to_vec();
        Ok(Self { python, libpython, libpaddle, folders })
    }

    /// Loads the libraries globally, each after its dependencies. They stay loaded until the process ends.
    ///
    /// # Errors
    /// [`PaddleError::Open`].
    pub fn open(&self) -> Result<(), PaddleError> {
        if let Some(libpython) = &self.libpython {
            self.open_with_needed(libpython, MOST_MISSING)?;
        }
        self.open_with_needed(&self.libpaddle, MOST_MISSING)?;
        IS_LOADED.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn open_with_needed(&self, library: &Path, most: usize) -> Result<(), PaddleError> {
        for most in (0..most).rev() {
            // SAFETY: loading a library runs its initialisers; the caller named the interpreter and trusts them.
            let reason = match unsafe { Library::open(Some(library), RTLD_LAZY | RTLD_GLOBAL) } {
                Ok(opened) => {
                    // The C++ libraries cannot be closed safely.
                    std::mem::forget(opened);
                    return Ok(());
                }
                Err(error) => reason(library, &error),
            };
            match self.needed(&reason) {
                Some(needed) => self.open_with_needed(&needed, most)?,
                None => return Err(PaddleError::Open { library: library.into(), reason }),
            }
        }
        let reason = "too many of the libraries that it needs are missing".to_owned();
        Err(PaddleError::Open { library: library.into(), reason })
    }

    /// Returns the path of a library beside PaddlePaddle that the dynamic linker did not find.
    fn needed(&self, reason: &str) -> Option<PathBuf> {
        let (library, _) = reason.split_once(": cannot open shared object file")?;
        let name = Path::new(library.trim()).file_name().unwrap_or(OsStr::new(library));
        self.folders.iter().map(|folder| folder.join(name)).find(|library| library.is_file())
    }
}
