//! The version of the library.

use std::ffi::c_char;

/// First number of the version that a program is compiled against.
pub const VERSION_MAJOR: u32 = 0;
/// Second number.
pub const VERSION_MINOR: u32 = 1;
/// Third number.
pub const VERSION_PATCH: u32 = 0;

/// The version of the library that a program runs with, as one number: the major times 65536, plus the minor times 256,
/// plus the patch.
///
/// @return The number.
/// @par Threads
///     Any thread, also several at once.
#[unsafe(no_mangle)]
pub extern "C" fn tenon_version() -> u32 {
    VERSION_MAJOR << 16 | VERSION_MINOR << 8 | VERSION_PATCH
}

/// The same as a text: `0.1.0`.
///
/// @return A text that stays for ever.
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
    fn the_numbers_are_those_of_the_package() {
        assert_eq!(format!("{VERSION_MAJOR}.{VERSION_MINOR}.{VERSION_PATCH}"), env!("CARGO_PKG_VERSION"));
    }
}
