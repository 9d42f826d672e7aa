//! Libraries that the process has already loaded.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

use libloading::os::unix::{Library, RTLD_NOW};

/// Some libraries, to look symbols up in one after the other.
pub(super) struct Libraries(Vec<ManuallyDrop<Library>>);

impl Libraries {
    /// Those of the names that are loaded. Loads nothing.
    pub(super) fn find(names: &[&str]) -> Self {
        // SAFETY: a library that is already loaded runs no initialiser.
        let open = |name| unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) };
        // Never closed: the addresses that are looked up are kept until the process ends.
        Self(names.iter().filter_map(|name| open(name).ok()).map(ManuallyDrop::new).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address of a symbol; null if none of the libraries has it.
    pub(super) fn look_up(&self, symbol: &CStr) -> *mut c_void {
        self.0
            .iter()
            // SAFETY: the address is only handed on; who uses it knows what it is of.
            .find_map(|library| unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok())
            .map_or(null_mut(), |found| found.into_raw())
    }
}
