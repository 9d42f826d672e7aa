//! Writes results to the memory of a caller.

use std::ffi::c_char;

use crate::error::{Error, StatusCode};

/// Writes a string and its NUL into a buffer of fixed size.
///
/// # Safety
/// `capacity` bytes from `pointer` are writable.
pub unsafe fn write_text<S: StatusCode>(
    name: &str,
    pointer: *mut c_char,
    capacity: usize,
    text: &str,
) -> Result<(), Error<S>> {
    if text.len() >= capacity || text.contains('\0') {
        return Err(Error::new(
            S::INTERNAL,
            format!("{text:?} does not fit into the {capacity} bytes of `{name}`"),
        ));
    }
    // SAFETY: the length is at most the capacity, which the caller promises to be writable.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), pointer, text.len());
        pointer.add(text.len()).write(0);
    }
    Ok(())
}

/// Writes as much of a text as fits, and a zero byte.
///
/// # Safety
/// `target` is null or has room for `size` bytes.
pub unsafe fn write_message(text: &str, target: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1).filter(|_| !target.is_null()) else { return };
    let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let text = &text[..end.unwrap_or_default()];
    // SAFETY: the text has at most `size - 1` bytes.
    unsafe {
        target.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        target.add(text.len()).write(0);
    }
}

/// Writes the elements of a list whose length another function returned before.
///
/// # Errors
/// `INTERNAL` if the number of elements differs from that length.
///
/// # Safety
/// `place` is writable for as many elements as `counted` says.
pub unsafe fn write_elements<S: StatusCode, T: Copy>(
    name: &str,
    place: *mut T,
    elements: &[T],
    counted: (&str, usize),
) -> Result<(), Error<S>> {
    let (function, expected) = counted;
    if elements.len() != expected {
        let message = format!("{} elements of `{name}`, but {function} returned {expected}", elements.len());
        return Err(Error::new(S::INTERNAL, message));
    }
    // SAFETY: the caller allocated memory for this number of elements.
    unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr(), place, expected) };
    Ok(())
}
