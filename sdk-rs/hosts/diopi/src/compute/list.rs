//! Lists of numbers that the host passes.

use std::slice;

use tenon::device::{Error, Result};

use crate::runtime::ffi;

/// Creates an error for an argument that is null.
pub(super) fn missing(name: &str) -> Error {
    Error::invalid(format!("`{name}` is null"))
}

/// The largest number of dimensions of a tensor. Frameworks have this limit too.
const MAX_RANK: i64 = 64;

/// The largest number of elements of a list in the address space.
const MAX_LEN: usize = isize::MAX as usize / size_of::<i64>();

/// Returns the shape or the strides of a tensor.
///
/// # Safety
/// As for [`list`].
pub(super) unsafe fn dimensions<'c>(name: &str, list: &ffi::diopiSize_t) -> Result<&'c [i64]> {
    if list.len > MAX_RANK {
        return Err(Error::invalid(format!(
            "`{name}` has {} dimensions; at most {MAX_RANK} are supported",
            list.len
        )));
    }
    // SAFETY: the caller's promise.
    unsafe { self::list(name, list) }
}

/// Returns the numbers of a list.
///
/// # Safety
/// The address must be null, or that of as many numbers as the list states, which live until the call ends.
pub(super) unsafe fn list<'c>(name: &str, list: &ffi::diopiSize_t) -> Result<&'c [i64]> {
    match usize::try_from(list.len) {
        Ok(0) => Ok(&[]),
        Ok(len) if !list.data.is_null() && len <= MAX_LEN => {
            // SAFETY: the caller's promise. The list is in the address space.
            Ok(unsafe { slice::from_raw_parts(list.data, len) })
        }
        Ok(_) if list.data.is_null() => Err(missing(name)),
        Ok(_) | Err(_) => Err(Error::invalid(format!("`{name}` has {} elements", list.len))),
    }
}
