//! Lists of numbers that the host passes.

use std::slice;

use tenon::device::{Error, Result};

use crate::runtime::ffi;

/// Creates an error for an argument that is null.
pub(super) fn missing(name: &str) -> Error {
    Error::invalid(format!("`{name}` is null"))
}

/// Returns the numbers of a list.
///
/// # Safety
/// The address must be null, or that of as many numbers as the list states, which live until the call ends.
pub(super) unsafe fn list<'c>(name: &str, list: &ffi::diopiSize_t) -> Result<&'c [i64]> {
    match usize::try_from(list.len) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller's promise.
        Ok(len) if !list.data.is_null() => Ok(unsafe { slice::from_raw_parts(list.data, len) }),
        Ok(_) => Err(missing(name)),
        Err(_) => Err(Error::invalid(format!("`{name}` has {} elements", list.len))),
    }
}
