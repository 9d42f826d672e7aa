//! Finds and loads the library.

use std::ffi::{OsStr, OsString, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use tenon::support::{loaded_libraries, open_library};
use tenon_kernels::decomposition::lapack::Routines;

use crate::routines::Loaded;

/// The environment variable that sets the path of the library, or disables it.
pub const VARIABLE: &str = "TENON_LAPACK";

const OFF: &str = "off";

const NAME: &str = "liblapack.so.3";

/// A loaded LAPACK library.
pub struct Library {
    origin: Origin,
    loaded: Loaded,
}

/// Where the library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was already loaded in the process.
    Process,
    /// The environment variable names it.
    Variable(PathBuf),
    /// It is in the folder of a library that the process has loaded.
    Beside(PathBuf),
    /// The dynamic linker found it.
    System,
}

/// The reason why the library is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The variable is `off`.
    #[error("{VARIABLE} is `off`")]
    Off,
    /// The library was not found.
    #[error("there is no {NAME}; {VARIABLE} can name one")]
    Absent,
    /// The library lacks functions.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// The variable has an invalid value.
    #[error(transparent)]
    Variable(#[from] BadVariable),
}

/// An invalid value of [`VARIABLE`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}={value}: {reason}")]
pub struct BadVariable {
    value: String,
    reason: String,
}

impl Library {
    /// Returns the library. The first call searches for it.
    ///
    /// # Errors
    /// If the library is not used.
    pub fn get() -> Result<&'static Self, &'static Unusable> {
        static LIBRARY: OnceLock<Result<Library, Unusable>> = OnceLock::new();
        LIBRARY.get_or_init(|| Self::find(tenon::trusted_variable(VARIABLE))).as_ref()
    }

    /// Returns where the library was found.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn routines(&'static self) -> Routines {
        self.loaded.routines()
    }

    fn find(variable: Option<OsString>) -> Result<Self, Unusable> {
        let Some(value) = variable.filter(|value| !value.is_empty()) else { return Self::of_name() };
        if value == OFF {
            return Err(Unusable::Off);
        }
        let bad = |reason| BadVariable { value: value.to_string_lossy().into_owned(), reason };
        if !value.as_bytes().contains(&b'/') {
            return Err(bad(format!("expected `{OFF}` or the path of {NAME}")).into());
        }
        let handle = open_library(&value, 0).map_err(bad)?;
        Self::new(handle, Origin::Variable(PathBuf::from(&value)))
            .map_err(|reason| bad(reason.to_string()).into())
    }

    /// Finds the library in the process, then beside the libraries of the process, then on the system.
    fn of_name() -> Result<Self, Unusable> {
        if let Ok(handle) = open_library(OsStr::new(NAME), libc::RTLD_NOLOAD) {
            return Self::new(handle, Origin::Process);
        }
        for folder in folders() {
            let path = folder.join(NAME);
            if path.is_file()
                && let Ok(handle) = open_library(path.as_os_str(), 0)
                && let Ok(library) = Self::new(handle, Origin::Beside(path))
            {
                return Ok(library);
            }
        }
        let handle = open_library(OsStr::new(NAME), 0).map_err(|_| Unusable::Absent)?;
        Self::new(handle, Origin::System)
    }

    fn new(handle: *mut c_void, origin: Origin) -> Result<Self, Unusable> {
        // SAFETY: the handle belongs to a library that is never closed. Functions with these names are those of LAPACK.
        let loaded = unsafe { Loaded::load(|name| libc::dlsym(handle, name.as_ptr())) };
        Ok(Self { origin, loaded: loaded.map_err(Unusable::Missing)? })
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Library").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl fmt::Display for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Process => formatter.write_str("LAPACK, which the process had loaded"),
            Origin::Variable(path) => write!(formatter, "LAPACK, which {VARIABLE} names: {}", path.display()),
            Origin::Beside(path) => write!(formatter, "LAPACK, beside another library: {}", path.display()),
            Origin::System => formatter.write_str("LAPACK, which the system has"),
        }
    }
}

/// Returns the folders of the libraries that the process has loaded, those of PaddlePaddle among them.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::<PathBuf>::new();
    for path in loaded_libraries() {
        if let Some(folder) = path.parent().filter(|folder| folder.is_absolute())
            && !folders.iter().any(|known| known == folder)
        {
            folders.push(folder.to_owned());
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unusable(value: &str) -> String {
        Library::find(Some(value.into())).expect_err("the library is not used").to_string()
    }

    #[test]
    fn off_disables_the_library() {
        assert_eq!(Library::find(Some("off".into())).unwrap_err(), Unusable::Off);
    }

    #[test]
    fn invalid_values_are_named() {
        assert_eq!(unusable("on"), "TENON_LAPACK=on: expected `off` or the path of liblapack.so.3");
        assert!(unusable("/absent/liblapack.so.3").starts_with("TENON_LAPACK=/absent/liblapack.so.3: "));
    }

    #[test]
    fn library_without_the_functions_is_not_used() {
        let name = "/proc/self/root/lib/x86_64-linux-gnu/libc.so.6";
        if std::path::Path::new(name).exists() {
            assert_eq!(unusable(name), format!("TENON_LAPACK={name}: it has no sgesdd_"));
        }
    }

    #[test]
    fn folders_are_those_of_loaded_libraries() {
        let found = folders();
        let has_c = |folder: &PathBuf| folder.join("libc.so.6").exists();
        assert!(found.iter().any(has_c) || cfg!(target_feature = "crt-static"), "{found:?}");
    }
}
