//! Texts and lists across the boundary.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;

use crate::error::Failure;

/// A text for C. One with a NUL in it is shown with a space there: it is for people.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// A text of the caller's that may be null.
///
/// # Safety
/// `text` is null, or leads to a NUL-terminated text that stays for `'a`.
pub(crate) unsafe fn optional<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null by the check, a text by the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// A text of the caller's that must be there.
///
/// # Safety
/// As [`optional`].
pub(crate) unsafe fn required<'a>(name: &str, text: *const c_char) -> Result<&'a CStr, Failure> {
    // SAFETY: the caller's promise.
    unsafe { optional(text) }.ok_or_else(|| Failure::invalid(format!("`{name}` is null")))
}

/// A path as the system has it, whatever its bytes.
pub(crate) fn path(text: &CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

/// A place of the caller's for a result.
pub(crate) fn place<T>(name: &str, place: *mut T) -> Result<*mut T, Failure> {
    Ok(tenon::support::place::<crate::Status, T>(name, place)?)
}

/// Hands out a list by the pattern of two calls.
///
/// With `to` null, `count` gets how many there are. Otherwise it holds how many there is room for, and gets how many
/// were written; if the room is too small nothing is written to `to`, and `count` gets what is needed.
///
/// # Safety
/// `count` can be read and written; `to` is null, or has room for `*count` elements.
pub(crate) unsafe fn hand_out<T: Copy>(from: &[T], to: *mut T, count: *mut usize) -> Result<(), Failure> {
    let count = place("count", count)?;
    // SAFETY: neither null nor misaligned, and readable and writable by the caller's promise.
    let room = unsafe { count.replace(from.len()) };
    if to.is_null() {
        return Ok(());
    }
    if room < from.len() {
        return Err(Failure::invalid(format!("there is room for {room}, and {} are needed", from.len())));
    }
    let to = place("to", to)?;
    // SAFETY: there is room for so many elements by the caller's promise and the check.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    Ok(())
}

/// Hands out a text by the same pattern; the size is in bytes and counts the NUL.
///
/// # Safety
/// As [`hand_out`].
pub(crate) unsafe fn hand_out_text(text: &str, to: *mut c_char, size: *mut usize) -> Result<(), Failure> {
    let text = c_text(text);
    let bytes: Vec<c_char> = text.as_bytes_with_nul().iter().map(|byte| byte.cast_signed()).collect();
    // SAFETY: the caller's promise.
    unsafe { hand_out(&bytes, to, size) }
}
