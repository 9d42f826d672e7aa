//! Lists that belong to somebody else.

use std::fmt;

/// The address and the length of a list that its owner hands out.
///
/// It may be kept and copied by anybody; to read it is safe only as long as the owner keeps it, which the spec of the
/// function that hands it out says.
pub struct Lent<T> {
    first: *const T,
    len: usize,
}

impl<T> Lent<T> {
    /// A list without elements.
    pub const EMPTY: Self = Lent { first: std::ptr::null(), len: 0 };

    /// Lends a list. The one who lends it keeps it alive, unchanged and in its place as long as the spec says.
    pub const fn of(list: &[T]) -> Self {
        Lent { first: list.as_ptr(), len: list.len() }
    }

    /// A list from its parts.
    ///
    /// # Safety
    /// `first` leads to `len` elements for as long as the spec says; it may be null if `len` is 0.
    pub const unsafe fn from_raw(first: *const T, len: usize) -> Self {
        Lent { first, len }
    }

    /// The address of the first element; null or dangling if there is none.
    pub const fn as_ptr(self) -> *const T {
        self.first
    }

    /// How many elements there are.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The elements.
    ///
    /// # Safety
    /// The owner still keeps the list, and does not change it, as long as `'a` lasts.
    pub const unsafe fn as_slice<'a>(self) -> &'a [T] {
        if self.len == 0 || self.first.is_null() {
            return &[];
        }
        // SAFETY: the elements are there by the promise that made this, and by the caller's that they still are.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
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
