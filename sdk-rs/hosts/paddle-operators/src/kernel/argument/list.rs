//! Attributes that are lists.

use std::ffi::{c_char, c_void};
use std::slice;

use crate::paddle::{KernelArgument, KernelContext, List, PaddleApi};

use crate::error::{Error, Result};
use crate::kernel::argument::{Argument, Attribute, text};
use crate::kernel::call::Call;
use crate::kernel::element::Bool;

/// Returns the elements of a list.
///
/// # Safety
/// The list must contain elements of this type that stay unchanged for `'c`.
pub(in crate::kernel) unsafe fn elements<'c, T>(name: &str, list: List) -> Result<&'c [T]> {
    if list.size == 0 {
        return Ok(&[]);
    }
    let data: *const T = list.data.cast();
    if data.is_null() || !data.is_aligned() {
        return Err(Error::broken(format!("`{name}` is a list of {} elements at {data:p}", list.size)));
    }
    // SAFETY: it is aligned and not null, as just checked; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(data, list.size) })
}

macro_rules! borrowed {
    ($($value:ty: $kind:ident, $convert:ident, $at:ident;)*) => {$(
        // SAFETY: a reference to a C++ vector is a pointer.
        unsafe impl<'c> Argument<'c> for &'c [$value] {
            const KIND: KernelArgument = KernelArgument::$kind;
            type Raw = *mut c_void;

            unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut c_void) -> Result<Self> {
                // SAFETY: the caller's promise; the elements are the vector's own.
                unsafe { elements(name, call.api().$convert(raw)?) }
            }

            unsafe fn from_context(
                call: &'c Call,
                name: &'static str,
                context: KernelContext,
                index: usize,
            ) -> Result<Self> {
                // SAFETY: the caller's promise; the elements are the vector's own.
                unsafe { elements(name, call.api().$at(context, index)?) }
            }
        }

        impl<'c> Attribute<'c> for &'c [$value] {}
    )*};
}
borrowed! {
    i32: LIST_INT32, list_int32_attr, kernel_context_list_int32_attr_at;
    i64: LIST_INT64, list_int64_attr, kernel_context_list_int64_attr_at;
    f32: LIST_FLOAT32, list_float_attr, kernel_context_list_float_attr_at;
    f64: LIST_FLOAT64, list_double_attr, kernel_context_list_double_attr_at;
}

/// A list that Paddle created for the caller. It is freed even if a C++ exception passes.
pub(in crate::kernel) struct Made<'c> {
    list: List,
    api: &'c PaddleApi,
    free: unsafe fn(&PaddleApi, List) -> crate::paddle::Result<()>,
}

impl<'c> Made<'c> {
    /// Wraps a list of pointers.
    ///
    /// # Safety
    /// Paddle must have created it for the caller, to be freed with `PD_DeletePointerList`.
    pub(in crate::kernel) unsafe fn of_pointers(api: &'c PaddleApi, list: List) -> Self {
        Self { list, api, free: PaddleApi::delete_pointer_list }
    }

    /// Wraps a list of bytes.
    ///
    /// # Safety
    /// Paddle must have created it for the caller, to be freed with `PD_DeleteUInt8List`.
    unsafe fn of_bytes(api: &'c PaddleApi, list: List) -> Self {
        Self { list, api, free: PaddleApi::delete_uint8_list }
    }

    /// Returns the elements.
    ///
    /// # Safety
    /// They must be of type `T`.
    pub(in crate::kernel) unsafe fn elements<T>(&self, name: &str) -> Result<&[T]> {
        // SAFETY: the type is the caller's promise; the list lives as long as `self`.
        unsafe { elements(name, self.list) }
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // SAFETY: created for the caller, and freed once. The function exists and does not throw.
        let _ = unsafe { (self.free)(self.api, self.list) };
    }
}

macro_rules! made {
    ($($element:ty: $kind:ident, $made:ident, $convert:ident, $at:ident, $read:ident;)*) => {$(
        // SAFETY: a reference to a C++ vector is a pointer.
        unsafe impl<'c> Argument<'c> for Vec<$element> {
            const KIND: KernelArgument = KernelArgument::$kind;
            type Raw = *mut c_void;

            unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut c_void) -> Result<Self> {
                // SAFETY: the caller's promise; the list was created for the caller and has the element type
                // that `read` expects.
                unsafe { $read(call, name, &Made::$made(call.api(), call.api().$convert(raw)?)) }
            }

            unsafe fn from_context(
                call: &'c Call,
                name: &'static str,
                context: KernelContext,
                index: usize,
            ) -> Result<Self> {
                // SAFETY: the caller's promise; the list was created for the caller and has the element type
                // that `read` expects.
                unsafe { $read(call, name, &Made::$made(call.api(), call.api().$at(context, index)?)) }
            }
        }

        impl<'c> Attribute<'c> for Vec<$element> {}
    )*};
}
pub(in crate::kernel) use made;

made! {
    bool: LIST_BOOL, of_bytes, list_bool_attr, kernel_context_list_bool_attr_at, booleans;
    &'c str: LIST_STRING, of_pointers, list_string_attr, kernel_context_list_string_attr_at, texts;
}

/// # Safety
/// The list must contain bytes.
unsafe fn booleans(_: &Call, name: &str, list: &Made<'_>) -> Result<Vec<bool>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { list.elements::<Bool>(name) }?.iter().map(|element| element.get()).collect())
}

/// # Safety
/// The list must contain pointers to texts that are valid for `'c`.
unsafe fn texts<'c>(_: &'c Call, name: &str, list: &Made<'_>) -> Result<Vec<&'c str>> {
    // SAFETY: the caller's promise.
    let pointers = unsafe { list.elements::<*const c_char>(name) }?;
    // SAFETY: the caller's promise.
    pointers.iter().map(|&pointer| unsafe { text(name, pointer) }).collect()
}
