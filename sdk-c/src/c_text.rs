//! Strings that the library shows to C programs.

use std::ffi::CString;

/// Converts a string for C. A NUL in it becomes a space, which is acceptable because the string is only
/// shown to people.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
