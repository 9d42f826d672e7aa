//! Reads environment variables, unless the process must not trust them.

use std::env;
use std::ffi::OsString;

/// Reads a variable that names a file, a folder or code to run, like `secure_getenv`.
///
/// Returns `None` if the variable is not set, and in a process that has more rights than the user who started it (a
/// set-user-ID program): otherwise that user could make it load or overwrite any file.
#[must_use]
pub fn trusted_variable(name: &str) -> Option<OsString> {
    if has_raised_rights() { None } else { env::var_os(name) }
}

#[cfg(target_os = "linux")]
fn has_raised_rights() -> bool {
    use std::ffi::c_ulong;

    // A function of the C library, which the standard library links too.
    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    /// Set by the kernel when a program starts with other rights than those of its caller.
    const AT_SECURE: c_ulong = 23;
    getauxval(AT_SECURE) != 0
}

#[cfg(not(target_os = "linux"))]
fn has_raised_rights() -> bool {
    false
}
