//! Borrowed lists whose lifetime is documented in the spec.

use std::ffi::{CStr, c_char};
use std::fmt;

/// Address and length of a borrowed list.
///
/// It can be stored and copied freely. Reading it is safe only while the owner keeps the list alive; the spec of the
/// function that returns it says how long that is.
///
/// ```
/// let nodes = [1, 2, 3];
/// let lent = tenon::Lent::of(&nodes);
/// // SAFETY: `nodes` is still alive.
/// assert_eq!(unsafe { lent.as_slice() }, [1, 2, 3]);
/// ```
pub struct Lent<T> {
    first: *const T,
    len: usize,
}

impl<T> Lent<T> {
    /// The empty list.
    pub const EMPTY: Self = Lent { first: std::ptr::null(), len: 0 };

    /// Borrows a list. The owner keeps it alive, unchanged and in place for as long as the spec says.
    pub const fn of(list: &[T]) -> Self {
        Lent { first: list.as_ptr(), len: list.len() }
    }

    /// Makes a list from an address and a length.
    ///
    /// # Safety
    /// `first` points to `len` elements for as long as the spec says; it may be null if `len` is 0.
    pub const unsafe fn from_raw(first: *const T, len: usize) -> Self {
        Lent { first, len }
    }

    /// Address of the first element; null or dangling if the list is empty.
    pub const fn as_ptr(self) -> *const T {
        self.first
    }

    /// Returns the number of elements.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the elements.
    ///
    /// # Safety
    /// The owner keeps the list alive and does not change it for `'a`.
    pub const unsafe fn as_slice<'a>(self) -> &'a [T] {
        if self.len == 0 || self.first.is_null() {
            return &[];
        }
        // SAFETY: the pointer and length are valid by the contract of `of` and `from_raw`, and still valid by the
        // caller's promise.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

impl Lent<c_char> {
    /// Borrows a text, without its NUL. The owner keeps it alive, unchanged and in place for as long as the spec says.
    pub const fn text(text: &CStr) -> Self {
        Lent { first: text.as_ptr(), len: text.count_bytes() }
    }
}

impl<T> Clone for Lent<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lent<T> {}

impl<T> fmt::Debug for Lent<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Lent({} elements at {:p})", self.len, self.first)
    }
}
