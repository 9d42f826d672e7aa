//! Strings and lists at the C boundary.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;

use crate::c_text::c_text;
use crate::error::Failure;

/// Reads a string of the caller that may be null.
///
/// # Safety
/// `text` is null, or points to a NUL-terminated string that lives for `'a`.
pub(crate) unsafe fn optional<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null by the check, NUL-terminated by the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Reads a string of the caller that must not be null.
///
/// # Safety
/// As [`optional`].
pub(crate) unsafe fn required<'a>(name: &str, text: *const c_char) -> Result<&'a CStr, Failure> {
    // SAFETY: the caller's promise.
    unsafe { optional(text) }.ok_or_else(|| Failure::invalid(format!("`{name}` is null")))
}

/// Converts a path, whose bytes need not be UTF-8.
pub(crate) fn path(text: &CStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

/// Checks the caller's pointer to an output.
pub(crate) fn place<T>(name: &str, place: *mut T) -> Result<*mut T, Failure> {
    Ok(tenon::support::place::<crate::Status, T>(name, place)?)
}

/// Writes a list to the caller's array, in the two-call pattern.
///
/// If `to` is null, `count` gets the number of elements. Otherwise `count` holds the capacity of `to`, and
/// gets the number of elements that were written. If the capacity is too small, nothing is written to `to`,
/// and `count` gets the capacity that is needed.
///
/// # Safety
/// `count` can be read and written; `to` is null, or has space for `*count` elements.
pub(crate) unsafe fn hand_out<T: Copy>(from: &[T], to: *mut T, count: *mut usize) -> Result<(), Failure> {
    let count = place("count", count)?;
    // SAFETY: not null and aligned by the check, readable and writable by the caller's promise.
    let room = unsafe { count.replace(from.len()) };
    if to.is_null() {
        return Ok(());
    }
    if room < from.len() {
        return Err(Failure::invalid(format!("the capacity is {room}, but {} are needed", from.len())));
    }
    let to = place("to", to)?;
    // SAFETY: `to` has space for these elements by the check and the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    Ok(())
}

/// Writes a string in the two-call pattern; the size is in bytes and includes the NUL.
///
/// # Safety
/// As [`hand_out`].
pub(crate) unsafe fn hand_out_text(text: &str, to: *mut c_char, size: *mut usize) -> Result<(), Failure> {
    let text = c_text(text);
    let bytes: Vec<c_char> = text.as_bytes_with_nul().iter().map(|byte| byte.cast_signed()).collect();
    // SAFETY: the caller's promise.
    unsafe { hand_out(&bytes, to, size) }
}
