//! The library of the provider.

use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::os::unix;
use tenon_loader::{LoadError, exports};
use thiserror::Error;

use crate::settings::{BadSetting, PLUGIN, Settings};
use crate::trace;

/// The symbol by which this library knows itself and its copies.
const MARKER: &str = "tenon_loads_another_plugin";

/// Tells copies of this library from providers.
#[unsafe(no_mangle)]
pub static tenon_loads_another_plugin: u8 = 1;

type Create = unsafe extern "C-unwind" fn(
    *const c_char,
    *const c_void,
    *const c_void,
    *mut *mut c_void,
    usize,
    *mut usize,
) -> *mut c_void;
type Release = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The reason why the provider cannot be used.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The variable is not set.
    #[error(
        "libtenon_onnxruntime_layers.so stands in front of another provider, and {PLUGIN} does not say which: set it to \
         the path of that library"
    )]
    NoPlugin,
    /// The variable names this library.
    #[error("{PLUGIN}: `{}` is libtenon_onnxruntime_layers.so itself, or a copy of it", .0.display())]
    Itself(PathBuf),
    /// The file cannot be read.
    #[error("{PLUGIN}: {0}")]
    Load(#[from] LoadError),
    /// The dynamic linker refuses it.
    #[error("{PLUGIN}: `{}` cannot be loaded: {reason}", path.display())]
    Open {
        /// The library.
        path: PathBuf,
        /// The message of the dynamic linker.
        reason: libloading::Error,
    },
    /// A variable is not understood.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The trace cannot be written.
    #[error("the trace cannot be written to {}: {reason}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: std::io::Error,
    },
}

/// The provider behind the layers.
pub(crate) struct Vendor {
    pub(crate) create: Create,
    pub(crate) release: Release,
}

impl Vendor {
    /// Returns the provider, which the first call loads. It stays loaded.
    pub(crate) fn get() -> Result<&'static Self, &'static Refusal> {
        static VENDOR: OnceLock<Result<Vendor, Refusal>> = OnceLock::new();
        VENDOR.get_or_init(Self::load).as_ref()
    }

    fn load() -> Result<Self, Refusal> {
        let path =
            tenon::trusted_variable(PLUGIN).filter(|path| !path.is_empty()).ok_or(Refusal::NoPlugin)?;
        let path = PathBuf::from(path);
        if exports(&path, MARKER)? {
            return Err(Refusal::Itself(path));
        }
        let settings = Settings::get()?;
        if let Some(file) = &settings.trace {
            trace::open(file).map_err(|reason| Refusal::Trace { path: file.clone(), reason })?;
        }
        let failed = |reason| Refusal::Open { path: path.clone(), reason };
        // SAFETY: its initialisers run, as when the host loads it.
        let library = unsafe { unix::Library::open(Some(&path), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        let library = library.map_err(failed)?;
        // SAFETY: ONNX Runtime documents the signatures of these functions.
        let (create, release) = unsafe {
            let create = library.get::<Create>(b"CreateEpFactories\0").map_err(failed)?;
            let release = library.get::<Release>(b"ReleaseEpFactory\0").map_err(failed)?;
            (*create, *release)
        };
        // Its functions are called until the process ends.
        std::mem::forget(library);
        Ok(Self { create, release })
    }
}
