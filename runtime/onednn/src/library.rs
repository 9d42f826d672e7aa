//! Finds the library.

use std::ffi::{CStr, CString, OsStr, OsString, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::api::{EngineKind, OneDnn};
use crate::cache::Cache;
use crate::convolution::Convolutions;
use crate::object::Context;
use crate::product::Products;

/// The variable that names the library, or turns its use off.
pub const VARIABLE: &str = "TENON_DNNL";

const NAME: &CStr = c"libdnnl.so.3";

/// The oldest version that has every function, and the first main version that may differ.
const VERSIONS: std::ops::Range<[i32; 2]> = [3, 2]..[4, 0];

/// A loaded oneDNN.
pub struct Library {
    version: [i32; 3],
    origin: Origin,
    pub(crate) context: Context,
    pub(crate) convolutions: Cache<Convolutions>,
    pub(crate) products: Cache<Products>,
}

/// The place where the library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The process had loaded it.
    Process,
    /// The variable names it.
    Variable(PathBuf),
    /// The dynamic linker found it.
    System,
}

/// The reason for which the library is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The variable is `off`.
    #[error("{VARIABLE} is `off`")]
    Off,
    /// There is no library.
    #[error("there is no libdnnl.so.3")]
    Absent,
    /// The library has another version.
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
    /// Returns the library. The first call looks for it.
    ///
    /// # Errors
    /// If it is not used.
    pub fn get() -> Result<&'static Self, &'static Unusable> {
        static LIBRARY: OnceLock<Result<Library, Unusable>> = OnceLock::new();
        LIBRARY.get_or_init(|| Self::find(tenon::trusted_variable(VARIABLE))).as_ref()
    }

    /// Returns the version: main version, release and correction.
    #[must_use]
    pub fn version(&self) -> [i32; 3] {
        self.version
    }

    /// Returns the place where it was found.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn find(variable: Option<OsString>) -> Result<Self, Unusable> {
        let Some(value) = variable.filter(|value| !value.is_empty()) else {
            return match open(NAME, libc::RTLD_NOLOAD) {
                Some(handle) => Self::new(handle, Origin::Process),
                None => Self::new(open(NAME, 0).ok_or(Unusable::Absent)?, Origin::System),
            };
        };
        if value == "off" {
            return Err(Unusable::Off);
        }
        let bad = |reason| BadVariable { value: value.to_string_lossy().into_owned(), reason };
        if !value.as_bytes().contains(&b'/') {
            return Err(bad("expected `off` or the path of libdnnl.so.3".to_owned()).into());
        }
        let handle = open_path(&value).map_err(bad)?;
        Self::new(handle, Origin::Variable(PathBuf::from(&value)))
            .map_err(|reason| bad(reason.to_string()).into())
    }

    fn new(handle: *mut c_void, origin: Origin) -> Result<Self, Unusable> {
        // SAFETY: the handle is that of a library that is never closed. Functions of these names are those of oneDNN, whose
        // signatures are the same in all versions that are used.
        let api = unsafe { OneDnn::load(|name| libc::dlsym(handle, name.as_ptr())) };
        // SAFETY: the library returns a struct of its own.
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
        Ok(Self { version, origin, context, convolutions: Cache::new(), products: Cache::new() })
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Library")
            .field("version", &self.version)
            .field("origin", &self.origin)
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
        }
    }
}

fn open(name: &CStr, flags: c_int) -> Option<*mut c_void> {
    // SAFETY: the name is NUL-terminated. Loading the library runs its initialisation, which has no requirements.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
    (!handle.is_null()).then_some(handle)
}

/// Loads a library; fails with the reason of the dynamic linker.
fn open_path(path: &OsStr) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_bytes()).map_err(|_| "a path has no NUL".to_owned())?;
    open(&name, 0).ok_or_else(|| {
        // SAFETY: the text is valid until the thread calls another function of the dynamic linker.
        let reason = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
        reason.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    })
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
        assert_eq!(unusable("on"), "TENON_DNNL=on: expected `off` or the path of libdnnl.so.3");
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
        match std::env::var_os(VARIABLE).filter(|value| !value.is_empty() && value != "off") {
            Some(path) => assert_eq!(Library::get().unwrap().origin(), &Origin::Variable(path.into())),
            None => assert!(!matches!(Library::get(), Err(Unusable::Variable(_)))),
        }
    }
}
