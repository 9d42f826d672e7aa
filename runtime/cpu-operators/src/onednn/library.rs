//! Finds and loads the library.

use std::ffi::{OsStr, OsString, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use tenon::support::open_library;

use crate::onednn::api::{EngineKind, OneDnn};
use crate::onednn::cache::Cache;
use crate::onednn::convolution::Convolutions;
use crate::onednn::object::Context;
use crate::onednn::product::Products;

/// The environment variable that sets the path of the library, disables it, or forces its use.
pub const VARIABLE: &str = "TENON_DNNL";

/// The values of [`VARIABLE`] that are not a path.
const OFF: &str = "off";
const ALWAYS: &str = "always";

const NAME: &str = "libdnnl.so.3";

/// The oldest version that has every function, and the first major version that may be incompatible.
const VERSIONS: std::ops::Range<[i32; 2]> = [3, 2]..[4, 0];

/// A loaded oneDNN library.
pub struct Library {
    version: [i32; 3],
    origin: Origin,
    is_forced: bool,
    pub(crate) context: Context,
    pub(crate) convolutions: Cache<Convolutions>,
    pub(crate) products: Cache<Products>,
}

/// Where the library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was already loaded in the process.
    Process,
    /// The environment variable names it.
    Variable(PathBuf),
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
    #[error("there is no libdnnl.so.3")]
    Absent,
    /// The library has an unsupported version.
    #[error("version {}.{}.{} is not from 3.2 to 3.x", .0[0], .0[1], .0[2])]
    Version([i32; 3]),
    /// The library lacks functions.
    #[error("it has no {0}")]
    Missing(String),
    /// The library has no engine for this CPU.
    #[error("it has no engine for this CPU")]
    Engine,
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

    /// Returns the version: major, minor and patch.
    #[must_use]
    pub fn version(&self) -> [i32; 3] {
        self.version
    }

    /// Returns where the library was found.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns true if the environment variable requests the library wherever it can compute, even where it
    /// is slower.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    fn find(variable: Option<OsString>) -> Result<Self, Unusable> {
        let Some(value) = variable.filter(|value| !value.is_empty()) else { return Self::of_name() };
        if value == OFF {
            return Err(Unusable::Off);
        }
        let bad = |reason| BadVariable { value: value.to_string_lossy().into_owned(), reason };
        if value == ALWAYS {
            let library = Self::of_name().map_err(|reason| bad(reason.to_string()))?;
            return Ok(Self { is_forced: true, ..library });
        }
        if !value.as_bytes().contains(&b'/') {
            let reason = format!("expected `{OFF}`, `{ALWAYS}` or the path of libdnnl.so.3");
            return Err(bad(reason).into());
        }
        let handle = open_library(&value, 0).map_err(bad)?;
        Self::new(handle, Origin::Variable(PathBuf::from(&value)))
            .map_err(|reason| bad(reason.to_string()).into())
    }

    /// Finds the library by its name: first in the process, then on the system.
    fn of_name() -> Result<Self, Unusable> {
        match open_library(OsStr::new(NAME), libc::RTLD_NOLOAD) {
            Ok(handle) => Self::new(handle, Origin::Process),
            Err(_) => {
                Self::new(open_library(OsStr::new(NAME), 0).map_err(|_| Unusable::Absent)?, Origin::System)
            }
        }
    }

    fn new(handle: *mut c_void, origin: Origin) -> Result<Self, Unusable> {
        // SAFETY: the handle belongs to a library that is never closed. Functions with these names are those
        // of oneDNN, and their signatures are the same in all supported versions.
        let api = unsafe { OneDnn::load(|name| libc::dlsym(handle, name.as_ptr())) };
        // SAFETY: the library returns a pointer to its own static struct.
        let version = unsafe { api.version().ok().and_then(|version| version.as_ref()) };
        let version = version.ok_or_else(|| Unusable::Missing("dnnl_version".to_owned()))?;
        let version = [version.major, version.minor, version.patch];
        if !VERSIONS.contains(&[version[0], version[1]]) {
            return Err(Unusable::Version(version));
        }
        if let Some(missing) = api.missing().first() {
            return Err(Unusable::Missing((*missing).to_owned()));
        }
        // SAFETY: the arguments are valid. The engine is never destroyed.
        let engine = unsafe { api.engine_create(EngineKind::CPU, 0) }.map_err(|_| Unusable::Engine)?;
        let context = Context::new(api, engine).map_err(|_| Unusable::Engine)?;
        Ok(Self {
            version,
            origin,
            is_forced: false,
            context,
            convolutions: Cache::new(),
            products: Cache::new(),
        })
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Library")
            .field("version", &self.version)
            .field("origin", &self.origin)
            .field("is_forced", &self.is_forced)
            .finish()
    }
}

impl fmt::Display for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        write!(formatter, "oneDNN {major}.{minor}.{patch}, ")?;
        match &self.origin {
            Origin::Process => formatter.write_str("which the process had loaded"),
            Origin::Variable(path) => write!(formatter, "which {VARIABLE} names: {}", path.display()),
            Origin::System => formatter.write_str("which the system has"),
        }?;
        formatter.write_str(if self.is_forced { ", wherever it can compute" } else { "" })
    }
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
    fn always_forces_the_library_or_says_why_not() {
        match (Library::find(None), Library::find(Some("always".into()))) {
            (Ok(found), Ok(forced)) => assert_eq!((found.is_forced(), forced.is_forced()), (false, true)),
            (Err(reason), Err(bad)) => assert_eq!(bad.to_string(), format!("TENON_DNNL=always: {reason}")),
            (found, forced) => panic!("{found:?} and {forced:?}"),
        }
    }

    #[test]
    fn invalid_values_are_named() {
        assert_eq!(unusable("on"), "TENON_DNNL=on: expected `off`, `always` or the path of libdnnl.so.3");
        assert!(unusable("/absent/libdnnl.so.3").starts_with("TENON_DNNL=/absent/libdnnl.so.3: "));
    }

    #[test]
    fn library_without_the_functions_is_not_used() {
        let name = "/proc/self/root/lib/x86_64-linux-gnu/libc.so.6";
        if std::path::Path::new(name).exists() {
            assert_eq!(unusable(name), format!("TENON_DNNL={name}: it has no dnnl_version"));
        }
    }

    #[test]
    fn a_named_library_is_used() {
        let path = |value: &OsString| value.as_bytes().contains(&b'/');
        match std::env::var_os(VARIABLE).filter(path) {
            Some(path) => assert_eq!(Library::get().unwrap().origin(), &Origin::Variable(path.into())),
            None => assert!(!matches!(Library::get(), Err(Unusable::Variable(_)))),
        }
    }
}
