//! A shared library, and the symbols that a plugin exports.

use std::ffi::{CStr, c_void};
use std::path::Path;

use libloading::os::unix::{self, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};
use tenon::device::LastError;

use crate::error::LoadError;
use crate::negotiate::Entry;

const ENTRY: &str = "InitPlugin";

/// An open library; it is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Library(unix::Library);

impl Library {
    pub(crate) fn open(path: &Path, lazy: bool) -> Result<Self, LoadError> {
        let when = if lazy { RTLD_LAZY } else { RTLD_NOW };
        // SAFETY: what its initialisers do is the choice of who names the library.
        let opened = unsafe { unix::Library::open(Some(path), when | RTLD_LOCAL) };
        opened.map(Library).map_err(|error| {
            // The linker puts the path before most of what it says, and the message has it already.
            let said = error.to_string();
            let reason = said.strip_prefix(&*path.to_string_lossy()).unwrap_or(&said);
            LoadError::Open {
                path: path.into(),
                reason: reason.trim_start_matches([':', ' ']).to_owned(),
                lazy,
            }
        })
    }

    /// Where a symbol is, if the library or one that it needs has it.
    fn find(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: the address is only handed on; who uses it knows what it is of.
        let found = unsafe { self.0.get::<*mut c_void>(symbol.to_bytes_with_nul()) };
        found.ok().map(|found| found.into_raw()).filter(|address| !address.is_null())
    }

    /// Like [`find`](Self::find), but only in the library that has the entry point: what it says, it says of that.
    fn find_beside(&self, entry: Entry, symbol: &CStr) -> Option<*mut c_void> {
        let beside = base(entry as *const c_void);
        self.find(symbol).filter(|address| beside.is_some() && base(*address) == beside)
    }

    pub(crate) fn entry(&self, path: &Path) -> Result<Entry, LoadError> {
        let found =
            self.find(c"InitPlugin").ok_or(LoadError::NoEntry { path: path.into(), symbol: ENTRY })?;
        // SAFETY: a library that exports this name means it to be called so by hosts of the interface.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(found) })
    }

    /// Whether the plugin promises to compare both sizes.
    pub(crate) fn promises(&self, entry: Entry) -> bool {
        self.find_beside(entry, c"tenon_checks_both_sizes").is_some()
    }

    pub(crate) fn last_error(&self, entry: Entry) -> Option<LastError> {
        let found = self.find_beside(entry, c"tenon_last_error")?;
        // SAFETY: a plugin that exports this name means it to be called so.
        Some(unsafe { std::mem::transmute::<*mut c_void, LastError>(found) })
    }
}

/// Where the library that has this address begins.
fn base(address: *const c_void) -> Option<usize> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the place can be written; zeros are valid for its pointers.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: zeroed, and written if it was found.
    (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase.addr())
}
