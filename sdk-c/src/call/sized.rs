//! Structs of options, which begin with their size.

use crate::error::Failure;

/// A struct whose first member is its size, so that a struct of another release is rejected instead of
/// misread.
///
/// # Safety
/// Every value can be read from the caller's bytes, and begins with its size.
pub(crate) unsafe trait WithSize: Copy {}

/// Reads a struct of the caller; `None` for null.
///
/// # Safety
/// `options` is null, or as many bytes as its size states can be read.
pub(crate) unsafe fn read<T: WithSize>(options: *const T) -> Result<Option<T>, Failure> {
    if options.is_null() {
        return Ok(None);
    }
    if !options.is_aligned() {
        return Err(Failure::invalid("the options are not aligned"));
    }
    // SAFETY: the size is the first member, and can be read by the caller's promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size != size_of::<T>() {
        let known = size_of::<T>();
        return Err(Failure::invalid(format!(
            "the options state a size of {size} bytes, but this library expects {known}: set `size` to their `sizeof`"
        )));
    }
    // SAFETY: its size is correct, and so many bytes can be read by the caller's promise.
    Ok(Some(unsafe { options.read() }))
}
