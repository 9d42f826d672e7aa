//! Functions that run when the process ends by `exit`.

/// Calls a function at `exit`, and keeps this library loaded until then.
pub(crate) fn call(function: extern "C" fn()) {
    pin();
    // SAFETY: the function takes no arguments, and the library is pinned, so it is never unloaded.
    unsafe { libc::atexit(function) };
}

/// Keeps this library loaded: its handlers, threads and callbacks may run until the process ends.
fn pin() {
    // SAFETY: the structure may be of zeros; the address is one of this library; the name is read before anything is
    // closed. Where it is a program and no library, opening fails, and nothing is needed.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr((pin as *const ()).cast(), &raw mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}
