//! Libraries that the process has already loaded.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

use libloading::os::unix::{Library, RTLD_NOW};
use tenon::support::LibraryOf;

/// Libraries in which symbols are looked up, in order.
pub(super) struct Libraries(Vec<ManuallyDrop<Library>>);

impl Libraries {
    /// Returns the libraries among `names` that are already loaded. Loads nothing.
    pub(super) fn find(names: &[&str]) -> Self {
        // SAFETY: a library that is already loaded runs no initialiser.
        let open = |name| unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) };
        // Never closed: the addresses found in them are kept until the process ends.
        Self(names.iter().filter_map(|name| open(name).ok()).map(ManuallyDrop::new).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the address of a symbol; null if none of the libraries has it.
    pub(super) fn look_up(&self, symbol: &CStr) -> *mut c_void {
        self.0
            .iter()
            // SAFETY: the address is only passed on; its user knows its type.
            .find_map(|library| unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok())
            .map_or(null_mut(), |found| found.into_raw())
    }
}

/// Keeps the library that contains this function in the process: PaddlePaddle closes plugins at exit and keeps the
/// pointers to their kernels.
///
/// # Errors
/// A one-line message.
pub(crate) fn stay_loaded() -> Result<(), String> {
    let refused =
        |reason: &str| format!("no operators are registered: the plugin cannot stay loaded: {reason}");
    let library = LibraryOf::this_code().ok_or_else(|| refused("its file is unknown"))?;
    if !library.stay_loaded() {
        return Err(refused(&format!("{} cannot be opened again", library.path().display())));
    }
    Ok(())
}
