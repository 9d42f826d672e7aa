//! Reports a plugin that ends the process: a call of `exit` in one of its functions.

use std::ffi::{c_int, c_void};
use std::sync::Once;

use tenon::support::{LibraryOf, with_running_call, write_line};

/// Watches the end of the process from here on.
pub(crate) fn watch() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // The function runs at the end of the process.
        if let Some(library) = LibraryOf::this_code() {
            library.stay_loaded();
        }
        // SAFETY: the function has this signature, and its library stays loaded. If there is no memory for it, nothing is
        // reported.
        unsafe { on_exit(ended, std::ptr::null_mut()) };
    });
}

unsafe extern "C" {
    /// Like `atexit`, but the function gets the exit status. In glibc only, as the plugins of PaddlePaddle.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn ended(status: c_int, _: *mut c_void) {
    with_running_call(|plugin, function| {
        let now = if status == 0 { "; the status becomes 1" } else { "" };
        write_line(format_args!(
            "the process ended with exit status {status} in the function `{function}` of the plugin {plugin}{now}"
        ));
        if status == 0 {
            // SAFETY: glibc runs the functions that are left, and then ends with this status.
            unsafe { libc::exit(1) };
        }
    });
}
