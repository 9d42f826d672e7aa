//! The kinds of arguments, and how each entry point receives them.

pub(in crate::kernel) mod float16;
pub(in crate::kernel) mod list;
pub(in crate::kernel) mod number;
mod values;

use std::ffi::{CStr, c_char, c_void};

use crate::paddle::{KernelArgument, KernelContext};
use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::call::Call;

/// A kind of argument.
///
/// # Safety
/// `Raw` must be the type that Paddle passes to variadic entry points for an argument of this `KIND`.
pub(crate) unsafe trait Argument<'c>: Sized {
    /// The kind in the registration.
    const KIND: KernelArgument;

    /// Converts an argument of the variadic entry point.
    type Raw;

    /// Converts an argument of the variadic entry point.
    ///
    /// # Safety
    /// `raw` must be the value that Paddle passed for this argument in this call.
    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: Self::Raw) -> Result<Self>;

    /// Reads an argument of the entry point with a context.
    ///
    /// # Safety
    /// `context` must be that of this call, and have an argument of this kind at `index` of its section.
    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self>;
}

/// The inputs, attributes or outputs of a context, in order.
pub(crate) struct Section<'c> {
    call: &'c Call,
    context: KernelContext,
    next: usize,
}

impl<'c> Section<'c> {
    /// Creates a section that starts with the first argument of a context.
    pub(crate) fn new(call: &'c Call, context: KernelContext) -> Self {
        Self { call, context, next: 0 }
    }

    /// Returns the next argument.
    ///
    /// # Safety
    /// The context must be that of the call, and have an argument of this kind at the current position.
    pub(crate) unsafe fn next<A: Argument<'c>>(&mut self, name: &'static str) -> Result<A> {
        let index = self.next;
        self.next += 1;
        // SAFETY: the caller's promise.
        unsafe { A::from_context(self.call, name, self.context, index) }
    }
}

/// An argument among the inputs.
pub(crate) trait Input<'c>: Argument<'c> {}

/// An argument among the attributes.
pub(crate) trait Attribute<'c>: Argument<'c> {}

/// An argument among the outputs.
pub(crate) trait Outcome<'c>: Argument<'c> {}

/// Implements attributes that are passed by value.
macro_rules! by_value {
    ($($value:ty: $kind:ident, $at:ident;)*) => {$(
        // SAFETY: C++ passes these by value, and Rust's types are those of C.
        unsafe impl Argument<'_> for $value {
            const KIND: KernelArgument = KernelArgument::$kind;
            type Raw = Self;

            unsafe fn from_raw(_: &Call, _: &'static str, raw: Self) -> Result<Self> {
                Ok(raw)
            }

            unsafe fn from_context(
                call: &Call,
                _: &'static str,
                context: KernelContext,
                index: usize,
            ) -> Result<Self> {
                // SAFETY: the caller's promise.
                Ok(unsafe { call.api().$at(context, index) }?)
            }
        }

        impl Attribute<'_> for $value {}
    )*};
}
by_value! {
    bool: BOOL, kernel_context_bool_attr_at;
    i32: INT32, kernel_context_int32_attr_at;
    i64: INT64, kernel_context_int64_attr_at;
    f32: FLOAT32, kernel_context_float_attr_at;
    f64: FLOAT64, kernel_context_double_attr_at;
}

// SAFETY: a C++ enum is an `int` here, passed by value.
unsafe impl Argument<'_> for DataType {
    const KIND: KernelArgument = KernelArgument::DATA_TYPE;
    /// Uses the numbering of C++, which differs from that of the C API.
    type Raw = i32;

    unsafe fn from_raw(call: &Call, _: &'static str, mut raw: i32) -> Result<Self> {
        let attribute: *mut i32 = &raw mut raw;
        // SAFETY: the converter reads one such enum.
        Ok(unsafe { call.api().data_type_attr(attribute.cast()) }?)
    }

    unsafe fn from_context(
        call: &Call,
        _: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(unsafe { call.api().kernel_context_data_type_attr_at(context, index) }?)
    }
}

impl Attribute<'_> for DataType {}

// SAFETY: a reference to a C++ string is a pointer.
unsafe impl<'c> Argument<'c> for &'c str {
    const KIND: KernelArgument = KernelArgument::STRING;
    type Raw = *mut c_void;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise; the text is borrowed for the call.
        unsafe { text(name, call.api().string_attr(raw)?) }
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise; the text is borrowed for the call.
        unsafe { text(name, call.api().kernel_context_string_attr_at(context, index)?) }
    }
}

impl<'c> Attribute<'c> for &'c str {}

/// Returns the text of a C++ string.
///
/// # Safety
/// `pointer` must be null or point to a NUL-terminated text that is valid for `'c`.
pub(in crate::kernel) unsafe fn text<'c>(name: &str, pointer: *const c_char) -> Result<&'c str> {
    if pointer.is_null() {
        return Err(Error::broken(format!("`{name}` is a null string")));
    }
    // SAFETY: it is not null, as just checked; the rest is the caller's promise.
    unsafe { CStr::from_ptr(pointer) }
        .to_str()
        .map_err(|_| Error::invalid(format!("`{name}` is not text in UTF-8")))
}
