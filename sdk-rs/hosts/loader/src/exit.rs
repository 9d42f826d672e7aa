//! Reports a plugin that ends the process: a call of `exit` in one of its functions.

use std::ffi::{c_int, c_void};
use std::sync::Once;

use tenon::support::{with_running_call, write_line};

/// Watches the end of the process from here on.
pub(crate) fn watch() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        keep_loaded();
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

/// Keeps this library loaded, because the function runs at the end of the process.
fn keep_loaded() {
    // SAFETY: the structure may be of zeros; the address is one of this library; the name is read before anything is
    // closed. Where it is a program and no library, opening fails, and nothing is needed.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr((keep_loaded as *const ()).cast(), &raw mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}
