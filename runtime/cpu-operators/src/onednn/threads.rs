//! The current number of OpenMP threads.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// The number of threads of each OpenMP library in the process, for the calling thread.
///
/// A process may have loaded both; the dynamic linker chose one of them for oneDNN.
pub(crate) type Threads = [c_int; 2];

const LIBRARIES: [&CStr; 2] = [c"libiomp5.so", c"libgomp.so.1"];

pub(crate) fn now() -> Threads {
    static FUNCTIONS: OnceLock<[Option<extern "C" fn() -> c_int>; 2]> = OnceLock::new();
    FUNCTIONS.get_or_init(|| LIBRARIES.map(look_up)).map(|function| function.map_or(0, |function| function()))
}

fn look_up(library: &CStr) -> Option<extern "C" fn() -> c_int> {
    // SAFETY: the names are NUL-terminated, nothing is loaded, and the handle stays open.
    let symbol = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        libc::dlsym(handle, c"omp_get_max_threads".as_ptr())
    };
    // SAFETY: OpenMP defines the function with this signature, and a null pointer is `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<extern "C" fn() -> c_int>>(symbol) }
}
