//! Arguments of calls as 64 bits each, in the form in which layers see them.

use std::ffi::CStr;

use super::{pointer, slice, slice_mut, text};
use crate::error::{Error, StatusCode};
use crate::pointer::{AnyPtr, DevicePtr, HostPtr, UnifiedPtr};

/// What 64 bits represent: a value, or the address of what a reference points to.
pub trait ToWord {
    /// Returns the bits. Integers are sign-extended, and floating-point numbers are those of an `f64`.
    fn to_word(&self) -> u64;
}

/// A value that 64 bits represent completely.
pub trait FromWord: ToWord {
    /// Makes the value from its bits.
    fn from_word(word: u64) -> Self;
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl ToWord for $number {
            #[inline]
            fn to_word(&self) -> u64 {
                *self as u64
            }
        }

        impl FromWord for $number {
            #[inline]
            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

impl ToWord for bool {
    #[inline]
    fn to_word(&self) -> u64 {
        u64::from(*self)
    }
}

impl FromWord for bool {
    #[inline]
    fn from_word(word: u64) -> Self {
        word != 0
    }
}

impl ToWord for f64 {
    #[inline]
    fn to_word(&self) -> u64 {
        self.to_bits()
    }
}

impl FromWord for f64 {
    #[inline]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }
}

impl ToWord for f32 {
    #[inline]
    fn to_word(&self) -> u64 {
        f64::from(*self).to_bits()
    }
}

impl FromWord for f32 {
    #[inline]
    fn from_word(word: u64) -> Self {
        f64::from_bits(word) as Self
    }
}

impl<T: ?Sized> ToWord for &T {
    #[inline]
    fn to_word(&self) -> u64 {
        std::ptr::from_ref(*self).cast::<()>().addr() as u64
    }
}

impl<T: ?Sized> ToWord for &mut T {
    #[inline]
    fn to_word(&self) -> u64 {
        std::ptr::from_ref(&**self).cast::<()>().addr() as u64
    }
}

impl<T: ToWord> ToWord for Option<T> {
    #[inline]
    fn to_word(&self) -> u64 {
        self.as_ref().map_or(0, T::to_word)
    }
}

/// Represents types by their address, or by the number that they wrap.
#[doc(hidden)]
#[macro_export]
macro_rules! word {
    (address $($address:ty),*) => {$(
        impl $crate::support::ToWord for $address {
            #[inline]
            fn to_word(&self) -> u64 {
                self.addr() as u64
            }
        }

        impl $crate::support::FromWord for $address {
            #[inline]
            fn from_word(word: u64) -> Self {
                Self::from_addr(word as usize)
            }
        }
    )*};
    (number $($number:ty),*) => {$(
        impl $crate::support::ToWord for $number {
            #[inline]
            fn to_word(&self) -> u64 {
                self.0 as i64 as u64
            }
        }

        impl $crate::support::FromWord for $number {
            #[inline]
            fn from_word(word: u64) -> Self {
                Self(word as _)
            }
        }
    )*};
    (callback $($callback:ty),*) => {
        $crate::word! { function $($callback),* }
        $(
            impl $crate::support::Callback for $callback {
                #[inline]
                fn context_word(&self) -> u64 {
                    self.context().addr() as u64
                }

                unsafe fn from_words(function: u64, context: u64) -> Self {
                    let function = $crate::support::pointer(function);
                    // SAFETY: the caller promises the function and its context.
                    unsafe {
                        Self::from_raw($crate::support::function(function), $crate::AnyPtr::from_addr(context as usize))
                    }
                }
            }
        )*
    };
    (function $($function:ty),*) => {$(
        impl $crate::support::ToWord for $function {
            #[inline]
            fn to_word(&self) -> u64 {
                self.as_raw().map_or(0, |function| (function as *const ()).addr() as u64)
            }
        }
    )*};
}

word! { address AnyPtr, DevicePtr, HostPtr, UnifiedPtr }

/// A reference whose length is an argument of its own.
pub trait ToLength {
    /// Returns the number of elements.
    fn to_length(&self) -> u64;
}

impl<T> ToLength for &[T] {
    #[inline]
    fn to_length(&self) -> u64 {
        self.len() as u64
    }
}

impl<T> ToLength for &mut [T] {
    #[inline]
    fn to_length(&self) -> u64 {
        self.len() as u64
    }
}

impl<T: ToLength> ToLength for Option<T> {
    #[inline]
    fn to_length(&self) -> u64 {
        self.as_ref().map_or(0, T::to_length)
    }
}

/// A reference that is made from an address and a length.
pub trait FromWords<'a>: Sized {
    /// Checks the address and the length of the argument `name`, and makes the reference. The length of a string is not
    /// used.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if they cannot be those of such a reference.
    ///
    /// # Safety
    /// The memory is valid as the type requires, for `'a`.
    unsafe fn from_words<S: StatusCode>(name: &str, address: u64, length: usize) -> Result<Self, Error<S>>;
}

impl<'a, T> FromWords<'a> for &'a [T] {
    unsafe fn from_words<S: StatusCode>(name: &str, address: u64, length: usize) -> Result<Self, Error<S>> {
        // SAFETY: the caller's promise.
        unsafe { slice(name, pointer(address), length) }
    }
}

impl<'a, T> FromWords<'a> for &'a mut [T] {
    unsafe fn from_words<S: StatusCode>(name: &str, address: u64, length: usize) -> Result<Self, Error<S>> {
        // SAFETY: the caller's promise.
        unsafe { slice_mut(name, pointer(address), length) }
    }
}

impl<'a> FromWords<'a> for &'a CStr {
    unsafe fn from_words<S: StatusCode>(name: &str, address: u64, _: usize) -> Result<Self, Error<S>> {
        // SAFETY: the caller's promise.
        unsafe { text(name, pointer(address)) }
    }
}

impl<'a, T: FromWords<'a>> FromWords<'a> for Option<T> {
    unsafe fn from_words<S: StatusCode>(name: &str, address: u64, length: usize) -> Result<Self, Error<S>> {
        if address == 0 {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        unsafe { T::from_words(name, address, length) }.map(Some)
    }
}

/// A callback whose function and context are arguments of their own.
pub trait Callback: Sized {
    /// Returns the address of the context.
    fn context_word(&self) -> u64;

    /// Makes a callback from the addresses of its function and its context.
    ///
    /// # Safety
    /// The function is null, or has this type and may be called with this context.
    unsafe fn from_words(function: u64, context: u64) -> Self;
}

/// A callback that may be absent.
pub trait ToContext {
    /// Returns the address of the context; 0 if there is no callback.
    fn to_context(&self) -> u64;
}

impl<T: Callback> ToContext for T {
    #[inline]
    fn to_context(&self) -> u64 {
        self.context_word()
    }
}

impl<T: Callback> ToContext for Option<T> {
    #[inline]
    fn to_context(&self) -> u64 {
        self.as_ref().map_or(0, T::context_word)
    }
}

/// Writes those of some words that have a new value.
#[inline]
pub fn update_words<const N: usize>(words: &mut [u64], values: [Option<u64>; N]) {
    for (word, value) in words.iter_mut().zip(values) {
        if let Some(value) = value {
            *word = value;
        }
    }
}
