//! The functions of the host that has loaded the library.

use std::sync::LazyLock;

use crate::runtime::DiopiRuntime;

static RUNTIME: LazyLock<DiopiRuntime> = LazyLock::new(|| {
    // SAFETY: the symbols are those of the host, which outlives the libraries that it loads. `RTLD_DEFAULT` is a valid
    // handle, and the name is NUL-terminated.
    unsafe { DiopiRuntime::load(|name| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr())) }
});

/// Returns the functions of the host. The first call looks them up in the libraries that this one was loaded with.
pub(crate) fn runtime() -> &'static DiopiRuntime {
    &RUNTIME
}
