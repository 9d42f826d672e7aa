//! The current number of OpenMP threads.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// The number of threads of each OpenMP library in the process, for the calling thread.
///
/// A process may have loaded both; the dynamic linker chose one of them for oneDNN.
pub(crate) type Threads = [c_int; 2];

const LIBRARIES: [&CStr; 2] = [c"libiomp5.so", c"libgomp.so.1"];

/// The number of multiplications below which waking other threads takes longer than they save.
const FEW: usize = 1 << 19;

/// The functions of an OpenMP library.
#[derive(Clone, Copy)]
struct OpenMp {
    get: extern "C" fn() -> c_int,
    set: extern "C" fn(c_int),
}

fn libraries() -> &'static [Option<OpenMp>; 2] {
    static FUNCTIONS: OnceLock<[Option<OpenMp>; 2]> = OnceLock::new();
    FUNCTIONS.get_or_init(|| LIBRARIES.map(look_up))
}

pub(crate) fn now() -> Threads {
    libraries().map(|library| library.map_or(0, |library| (library.get)()))
}

/// Computes something on the calling thread alone if it takes few multiplications, or the program has threads of its own, which
/// compute other parts.
pub(crate) fn few_for<R>(multiplications: usize, compute: impl FnOnce() -> R) -> R {
    let before = now();
    if multiplications >= FEW && !tenon_kernels::threads::are_set() || before.iter().all(|count| *count <= 1)
    {
        return compute();
    }
    let _restored = Restored(before);
    set([1; 2]);
    compute()
}

fn set(counts: Threads) {
    for (library, count) in libraries().iter().zip(counts) {
        if let Some(library) = library {
            (library.set)(count);
        }
    }
}

/// The numbers of threads that hold again after this value.
struct Restored(Threads);

impl Drop for Restored {
    fn drop(&mut self) {
        set(self.0);
    }
}

fn look_up(library: &CStr) -> Option<OpenMp> {
    // SAFETY: the names are NUL-terminated, nothing is loaded, and the handle stays open.
    let [get, set] = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        [c"omp_get_max_threads", c"omp_set_num_threads"].map(|name| libc::dlsym(handle, name.as_ptr()))
    };
    // SAFETY: OpenMP defines the functions with these signatures, and a null pointer is `None`.
    unsafe {
        Some(OpenMp {
            get: std::mem::transmute::<*mut c_void, Option<extern "C" fn() -> c_int>>(get)?,
            set: std::mem::transmute::<*mut c_void, Option<extern "C" fn(c_int)>>(set)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_threads_is_restored() {
        let before = now();
        few_for(1, || assert!(now().iter().all(|count| *count <= 1)));
        assert_eq!(now(), before);
        few_for(FEW, || assert_eq!(now(), before));
    }
}
