//! The functions of the host that loaded the library.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::LazyLock;

use crate::runtime::DiopiRuntime;

static RUNTIME: LazyLock<DiopiRuntime> = LazyLock::new(|| {
    let host = loaded_host();
    // SAFETY: the symbols are those of the host, which outlives the libraries that it loads.
    unsafe { DiopiRuntime::load(|name| look_up(host, name)) }
});

/// Returns the functions of the host. The first call looks them up, in the global libraries of the process
/// and in `libdiopirt.so`.
pub(crate) fn runtime() -> &'static DiopiRuntime {
    &RUNTIME
}

/// Returns the host's library if it is loaded, otherwise null.
///
/// A host may load it without making its symbols global, as Python's `ctypes` does.
fn loaded_host() -> *mut c_void {
    let names = DiopiRuntime::LIBRARIES.iter().filter_map(|name| CString::new(*name).ok());
    // SAFETY: the name is NUL-terminated, and no library is loaded.
    let mut handles =
        names.map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) });
    handles.find(|handle| !handle.is_null()).unwrap_or(ptr::null_mut())
}

fn look_up(host: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: `RTLD_DEFAULT` is a valid handle, and the name is NUL-terminated.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !symbol.is_null() || host.is_null() {
        return symbol;
    }
    // SAFETY: the handle belongs to a loaded library, which is never closed.
    unsafe { libc::dlsym(host, name.as_ptr()) }
}
