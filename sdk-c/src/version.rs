//! The version of the library.

use std::ffi::c_char;

/// Major version of the headers that a program is compiled with.
pub const VERSION_MAJOR: u32 = 0;
/// Minor version.
pub const VERSION_MINOR: u32 = 1;
/// Patch version.
pub const VERSION_PATCH: u32 = 0;

/// Returns the version of the loaded library, as one number: the major version times 65536, plus the minor
/// version times 256, plus the patch version.
///
/// @return The number.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_version() -> u32 {
    VERSION_MAJOR << 16 | VERSION_MINOR << 8 | VERSION_PATCH
}

/// Returns the version of the loaded library as a string: `0.1.0`.
///
/// @return A string that is never freed.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_matches_the_package() {
        assert_eq!(format!("{VERSION_MAJOR}.{VERSION_MINOR}.{VERSION_PATCH}"), env!("CARGO_PKG_VERSION"));
    }
}
