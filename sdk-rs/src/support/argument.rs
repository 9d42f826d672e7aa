//! Checks of what C passes, and conversions to references, slices and strings.

use std::ffi::{CStr, c_char};

use crate::error::{Error, StatusCode};

/// Checks that the pattern of a fill is as long as an element, and that whole elements fill the memory.
pub fn check_pattern<S: StatusCode>(pattern: &[u8], size: usize) -> Result<(), Error<S>> {
    let length = pattern.len();
    if !matches!(length, 1 | 2 | 4 | 8 | 16) {
        return Err(Error::invalid(format!("`pattern_size` is {length}, but must be 1, 2, 4, 8 or 16")));
    }
    if !size.is_multiple_of(length) {
        return Err(Error::invalid(format!(
            "`size` is {size}, which is not a multiple of the {length} bytes of `pattern`"
        )));
    }
    Ok(())
}

/// Checks that an argument is not null and is aligned.
#[inline]
pub fn non_null<S: StatusCode, T>(name: &str, pointer: *const T) -> Result<*const T, Error<S>> {
    if pointer.is_null() {
        return Err(null(name));
    }
    if !pointer.is_aligned() {
        return Err(misaligned(name, pointer.addr()));
    }
    Ok(pointer)
}

#[cold]
fn null<S: StatusCode>(name: &str) -> Error<S> {
    Error::invalid(format!("`{name}` is null"))
}

#[cold]
fn misaligned<S: StatusCode>(name: &str, address: usize) -> Error<S> {
    Error::invalid(format!("`{name}` is not aligned: {address:#x}"))
}

/// Checks that a pointer to an output is not null and is aligned.
#[inline]
pub fn place<S: StatusCode, T>(name: &str, pointer: *mut T) -> Result<*mut T, Error<S>> {
    non_null(name, pointer).map(<*const T>::cast_mut)
}

/// Checks a pointer to an output like [`place`]. Null is allowed for an output that the caller does not need.
#[inline]
pub fn place_or_null<S: StatusCode, T>(name: &str, pointer: *mut T) -> Result<*mut T, Error<S>> {
    if pointer.is_null() { Ok(pointer) } else { place(name, pointer) }
}

/// Rejects a null handle or callback.
#[inline]
pub fn refuse_null<S: StatusCode>(name: &str, is_null: bool) -> Result<(), Error<S>> {
    if is_null { Err(null(name)) } else { Ok(()) }
}

/// A const or mutable pointer.
pub trait Pointer: Copy {
    /// Returns true if the pointer is null.
    fn is_null_pointer(self) -> bool;
}

impl<T> Pointer for *const T {
    fn is_null_pointer(self) -> bool {
        self.is_null()
    }
}

impl<T> Pointer for *mut T {
    fn is_null_pointer(self) -> bool {
        self.is_null()
    }
}

/// Reads the value behind a pointer, unless it is null.
#[inline]
pub fn nullable<P: Pointer, T, E>(pointer: P, read: impl FnOnce(P) -> Result<T, E>) -> Result<Option<T>, E> {
    if pointer.is_null_pointer() { Ok(None) } else { read(pointer).map(Some) }
}

/// Makes a reference from the caller's pointer.
///
/// # Safety
/// Unless the checks fail, `pointer` is readable and does not change during `'a`.
#[inline]
pub unsafe fn reference<'a, S: StatusCode, T>(name: &str, pointer: *const T) -> Result<&'a T, Error<S>> {
    // SAFETY: not null and aligned by the check; readable by the caller's promise.
    non_null(name, pointer).map(|pointer| unsafe { &*pointer })
}

/// Makes a mutable reference from the caller's pointer.
///
/// # Safety
/// Unless the checks fail, `pointer` is writable and not accessed otherwise during `'a`.
#[inline]
pub unsafe fn reference_mut<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
) -> Result<&'a mut T, Error<S>> {
    // SAFETY: not null and aligned by the check; writable by the caller's promise.
    place(name, pointer).map(|pointer| unsafe { &mut *pointer })
}

/// Makes a reference like [`reference`], or `None` for null.
///
/// # Safety
/// As for [`reference`].
#[inline]
pub unsafe fn reference_or_null<'a, S: StatusCode, T>(
    name: &str,
    pointer: *const T,
) -> Result<Option<&'a T>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { reference(name, pointer) })
}

/// Makes a mutable reference like [`reference_mut`], or `None` for null.
///
/// # Safety
/// As for [`reference_mut`].
#[inline]
pub unsafe fn reference_mut_or_null<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
) -> Result<Option<&'a mut T>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { reference_mut(name, pointer) })
}

/// Converts a number of elements or bytes to the length of a slice.
#[inline]
pub fn count<S: StatusCode>(
    name: &str,
    count: impl TryInto<usize> + std::fmt::Display + Copy,
) -> Result<usize, Error<S>> {
    count.try_into().map_err(|_| Error::invalid(format!("`{name}` cannot be a length: {count}")))
}

/// Checks that a range is inside the address space, and not null unless its length is 0.
#[inline]
pub fn range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Result<(), Error<S>> {
    // No object is larger than `isize::MAX`; a larger slice would be undefined behaviour.
    if (address == 0 && bytes != 0) || bytes > isize::MAX as usize || address.checked_add(bytes).is_none() {
        return Err(bad_range(name, address, bytes));
    }
    Ok(())
}

#[cold]
fn bad_range<S: StatusCode>(name: &str, address: usize, bytes: usize) -> Error<S> {
    Error::invalid(if address == 0 {
        format!("`{name}` is null, but {bytes} bytes are accessed")
    } else {
        format!("{bytes} bytes from `{name}` reach past the address space")
    })
}

/// Makes a slice from the caller's pointer and count.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` are readable and do not change during `'a`.
#[inline]
pub unsafe fn slice<'a, S: StatusCode, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], Error<S>> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(format!("{count} elements of `{name}` overflow")))?;
    range(name, pointer.addr(), bytes)?;
    if count == 0 {
        return Ok(&[]);
    }
    let pointer = non_null(name, pointer)?;
    // SAFETY: not null, aligned and inside the address space by the checks; readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Makes a mutable slice from the caller's pointer and count.
///
/// # Safety
/// Unless the checks fail, `count` elements from `pointer` are writable and not accessed otherwise during `'a`.
#[inline]
pub unsafe fn slice_mut<'a, S: StatusCode, T>(
    name: &str,
    pointer: *mut T,
    count: usize,
) -> Result<&'a mut [T], Error<S>> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(format!("{count} elements of `{name}` overflow")))?;
    range(name, pointer.addr(), bytes)?;
    if count == 0 {
        return Ok(&mut []);
    }
    let pointer = place(name, pointer)?;
    // SAFETY: not null, aligned and inside the address space by the checks; writable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// Makes a string from the caller's pointer.
///
/// # Safety
/// `pointer` is null or points to a NUL-terminated string.
#[inline]
pub unsafe fn text<'a, S: StatusCode>(name: &str, pointer: *const c_char) -> Result<&'a CStr, Error<S>> {
    let pointer = non_null(name, pointer)?;
    // SAFETY: not null by the check, NUL-terminated by the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Makes a string like [`text`], or `None` for null.
///
/// # Safety
/// As for [`text`].
#[inline]
pub unsafe fn text_or_null<'a, S: StatusCode>(
    name: &str,
    pointer: *const c_char,
) -> Result<Option<&'a CStr>, Error<S>> {
    // SAFETY: the caller's promise.
    nullable(pointer, |pointer| unsafe { text(name, pointer) })
}
