//! Functions that run when the process ends by `exit`.

use tenon::support::LibraryOf;

/// Calls a function at `exit`, and keeps this library loaded until then.
pub(crate) fn call(function: extern "C" fn()) {
    // Its handlers, threads and callbacks may run until the process ends.
    if let Some(library) = LibraryOf::this_code() {
        library.stay_loaded();
    }
    // SAFETY: the function takes no arguments, and the library stays loaded.
    unsafe { libc::atexit(function) };
}
