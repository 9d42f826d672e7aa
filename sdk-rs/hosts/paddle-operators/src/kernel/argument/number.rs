//! Numbers and lists of integers that Paddle may pass in a tensor.
//!
//! A `Scalar` or an `IntArray` of an operator can be known when a program is created, or only when it runs.
//! Since 3.0, static graphs always pass values that may change as references to tensors, for which the
//! getters of the C API throw. Therefore this module reads the attribute itself, where Paddle exports a
//! method for it.

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::slice;

use crate::paddle::ffi::{PD_IntArray, PD_Scalar, PD_Tensor};
use crate::paddle::{IntArray as IntArrayHandle, KernelArgument, KernelContext, Scalar as ScalarHandle};

use crate::error::{Error, Result};
use crate::kernel::argument::list::{Made, elements, made};
use crate::kernel::argument::{Argument, Attribute};
use crate::kernel::call::Call;
use crate::kernel::element::{Complex, Element, Number};
use crate::kernel::tensor::Tensor;

/// The position of the type index in a `phi::Attribute`, a 64-byte variant. It is the same from 2.6 to 3.3.
const TAG_OFFSET: usize = 48;
/// The tag of a reference to a tensor.
const TENSOR: u8 = 18;
/// The tag of a list of such references.
const TENSORS: u8 = 19;

/// An attribute whose value is in tensors.
enum Deferred<'c> {
    One(Tensor<'c>),
    Many(Vec<Tensor<'c>>),
}

impl<'c> Deferred<'c> {
    /// Returns the tensors of an attribute; `None` if it was passed by value or cannot be read.
    ///
    /// # Safety
    /// As for [`Argument::from_context`].
    unsafe fn find(call: &'c Call, name: &'static str, context: KernelContext, index: usize) -> Option<Self> {
        // SAFETY: the caller's promise.
        let attribute: *const u8 = unsafe { call.host.attribute_at(context, index) }?.cast();
        // SAFETY: an attribute has 64 bytes. According to the tag it starts with a pointer to a tensor, or
        // with a C++ vector of such pointers, which starts with its begin and end pointers.
        unsafe {
            match *attribute.add(TAG_OFFSET) {
                TENSOR => Some(Self::One(Tensor::of_raw(call, name, *attribute.cast::<*mut PD_Tensor>()))),
                TENSORS => {
                    let [begin, end] = *attribute.cast::<[*const *mut PD_Tensor; 2]>();
                    let len = (end.addr() - begin.addr()) / size_of::<*mut PD_Tensor>();
                    let pointers = if len == 0 { &[] } else { slice::from_raw_parts(begin, len) };
                    let tensors = pointers.iter().map(|&pointer| Tensor::of_raw(call, name, pointer));
                    Some(Self::Many(tensors.collect()))
                }
                _ => None,
            }
        }
    }

    fn tensors(&self) -> &[Tensor<'c>] {
        match self {
            Self::One(tensor) => slice::from_ref(tensor),
            Self::Many(tensors) => tensors,
        }
    }
}

/// Rejects a negative number where an attribute, such as a dimension, cannot have one.
pub(crate) fn unsigned(name: &str, number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::invalid(format!("`{name}` holds {number}")))
}

/// A number of a type that Paddle knows.
#[derive(Clone, Copy)]
pub(crate) struct Scalar<'c> {
    call: &'c Call,
    source: Source,
}

#[derive(Clone, Copy)]
enum Source {
    Handle(ScalarHandle),
    Read(Number),
}

/// The codes of booleans and integers in the numbering of C++.
const INTEGERS: RangeInclusive<i32> = 1..=9;
const COMPLEX64: i32 = 12;
const COMPLEX128: i32 = 13;

/// A C++ `phi::Scalar`: a type, followed by a union of all types. Complex numbers are aligned to their size.
#[repr(C, align(16))]
struct Head {
    from_tensor: u8,
    data_type: i32,
    padding: u64,
    complex: Complex<f64>,
}

const _: () =
    assert!(std::mem::offset_of!(Head, data_type) == 4 && std::mem::offset_of!(Head, complex) == 16);

impl<'c> Scalar<'c> {
    /// Wraps a scalar of Paddle.
    ///
    /// # Safety
    /// `raw` must be live for `'c`.
    unsafe fn of_handle(call: &'c Call, raw: *mut PD_Scalar) -> Self {
        Self { call, source: Source::Handle(ScalarHandle::from_raw(raw)) }
    }

    /// Converts to a floating-point number.
    pub(crate) fn to_f64(self) -> Result<f64> {
        match self.source {
            // SAFETY: the handle is live by the contract of `of_handle`.
            Source::Handle(scalar) => Ok(unsafe { self.call.api().scalar_get_float64_data(scalar) }?),
            Source::Read(number) => Ok(number.to_f64()),
        }
    }

    /// Converts to an integer.
    pub(crate) fn to_i64(self) -> Result<i64> {
        match self.source {
            // SAFETY: the handle is live by the contract of `of_handle`.
            Source::Handle(scalar) => Ok(unsafe { self.call.api().scalar_get_int64_data(scalar) }?),
            Source::Read(number) => Ok(number.to_i64()),
        }
    }

    /// Converts to an element type.
    pub(crate) fn to<T: Element>(self) -> Result<T> {
        Ok(T::from_number(self.number()?))
    }

    /// Returns the number with its type. The C API does not report the type, so it is read from the object
    /// itself, and used only if the C API returns the same number.
    fn number(self) -> Result<Number> {
        let scalar = match self.source {
            Source::Read(number) => return Ok(number),
            Source::Handle(scalar) => scalar,
        };
        let head: *const Head = scalar.as_raw().cast_const().cast();
        let real = self.to_f64()?;
        // SAFETY: a live scalar is at least as large as `Head` in every release, because its union holds a
        // pair of doubles.
        let number = match unsafe { (*head).data_type } {
            // SAFETY: as above; the type means that it is a pair of floats.
            COMPLEX64 => Number::Complex(narrow_complex(unsafe { (*head).complex.re })),
            // SAFETY: as above; the type means that it is a pair of doubles.
            COMPLEX128 => Number::Complex(unsafe { (*head).complex }),
            integer if INTEGERS.contains(&integer) => Number::Integer(self.to_i64()?),
            _ => Number::Real(real),
        };
        let agrees = number.to_f64() == real || (number.to_f64().is_nan() && real.is_nan());
        if agrees { Ok(number) } else { Err(Error::broken("a scalar is not laid out as expected")) }
    }
}

/// Splits the bits of a double into two floats.
fn narrow_complex(both: f64) -> Complex<f64> {
    let [re, im] = [both.to_bits() as u32, (both.to_bits() >> 32) as u32].map(f32::from_bits);
    Complex { re: re.into(), im: im.into() }
}

// SAFETY: a reference to a C++ scalar is a pointer.
unsafe impl<'c> Argument<'c> for Scalar<'c> {
    const KIND: KernelArgument = KernelArgument::SCALAR;
    type Raw = *mut PD_Scalar;

    unsafe fn from_raw(call: &'c Call, _: &'static str, raw: *mut PD_Scalar) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(unsafe { Self::of_handle(call, raw) })
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let deferred = unsafe { Deferred::find(call, name, context, index) };
        let source = match &deferred {
            None => {
                // SAFETY: the caller's promise.
                Source::Handle(unsafe { call.api().kernel_context_scalar_attr_at(context, index) }?)
            }
            Some(deferred) => match deferred.tensors() {
                [tensor] => Source::Read(tensor.number()?),
                tensors => {
                    return Err(Error::invalid(format!("`{name}` is {} tensors, not one", tensors.len())));
                }
            },
        };
        Ok(Self { call, source })
    }
}

impl<'c> Attribute<'c> for Scalar<'c> {}

made! {
    Scalar<'c>: LIST_SCALAR, of_pointers, list_scalar_attr, kernel_context_list_scalar_attr_at, scalars;
}

/// # Safety
/// The list must contain pointers to scalars that are valid for `'c`.
unsafe fn scalars<'c>(call: &'c Call, name: &str, list: &Made<'_>) -> Result<Vec<Scalar<'c>>> {
    // SAFETY: the caller's promise.
    let pointers = unsafe { list.elements::<*mut PD_Scalar>(name) }?;
    // SAFETY: the caller's promise.
    Ok(pointers.iter().map(|&pointer| unsafe { Scalar::of_handle(call, pointer) }).collect())
}

/// A list of integers, such as a shape.
#[derive(Clone, Debug)]
pub(crate) struct IntArray<'c>(Cow<'c, [i64]>);

impl IntArray<'_> {
    /// Returns the integers.
    pub(crate) fn get(&self) -> &[i64] {
        &self.0
    }
}

impl<'c> IntArray<'c> {
    /// # Safety
    /// The handle must be live for `'c`.
    unsafe fn of_handle(call: &'c Call, name: &str, handle: IntArrayHandle) -> Result<Self> {
        // SAFETY: the caller's promise; the integers belong to the array.
        Ok(Self(Cow::Borrowed(unsafe { elements(name, call.api().int_array_get_data_pointer(handle)?)? })))
    }
}

// SAFETY: a reference to a C++ array is a pointer.
unsafe impl<'c> Argument<'c> for IntArray<'c> {
    const KIND: KernelArgument = KernelArgument::INT_ARRAY;
    type Raw = *mut PD_IntArray;

    unsafe fn from_raw(call: &'c Call, name: &'static str, raw: *mut PD_IntArray) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::of_handle(call, name, IntArrayHandle::from_raw(raw)) }
    }

    unsafe fn from_context(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        match unsafe { Deferred::find(call, name, context, index) } {
            None => {
                // SAFETY: the caller's promise; the result of the getter is live for the call.
                unsafe {
                    let handle = call.api().kernel_context_int_array_attr_at(context, index)?;
                    Self::of_handle(call, name, handle)
                }
            }
            Some(Deferred::One(tensor)) => Ok(Self(Cow::Owned(tensor.integers()?))),
            Some(Deferred::Many(tensors)) => {
                let integers: Result<Vec<i64>> =
                    tensors.iter().map(|tensor| Ok(tensor.number()?.to_i64())).collect();
                Ok(Self(Cow::Owned(integers?)))
            }
        }
    }
}

impl<'c> Attribute<'c> for IntArray<'c> {}
