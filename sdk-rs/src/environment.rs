//! Variables of the environment, as far as the process may trust them.

use std::env;
use std::ffi::OsString;

/// Reads a variable that names a file, a folder or code to run, as `secure_getenv` does.
///
/// Returns `None` if the variable is not set, and in a process that has more rights than the user who started it (a
/// set-user-ID program): that user could make it load or overwrite any file.
#[must_use]
pub fn trusted_variable(name: &str) -> Option<OsString> {
    if has_raised_rights() { None } else { env::var_os(name) }
}

#[cfg(target_os = "linux")]
fn has_raised_rights() -> bool {
    use std::ffi::c_ulong;

    // From the C library that the standard library links too.
    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    /// Set by the kernel when it starts a program with other rights than its caller's.
    const AT_SECURE: c_ulong = 23;
    getauxval(AT_SECURE) != 0
}

#[cfg(not(target_os = "linux"))]
fn has_raised_rights() -> bool {
    false
}
