//! Numbers and lists of integers that Paddle may leave in a tensor.
//!
//! A `Scalar` or an `IntArray` of an operator can be known when a program is made, or only when it runs. Since 3.0
//! static graphs always pass what may change as a reference to a tensor, which the getters of the C API throw
//! at. So the attribute itself is looked at, where Paddle exports how to get it.

use std::ffi::c_void;
use std::slice;

use tenon::device::DataType;
use tenon::paddle::ffi::{PD_IntArray, PD_Scalar, PD_Tensor};
use tenon::paddle::{IntArray as IntArrayHandle, KernelArgument, KernelContext, Scalar as ScalarHandle};
use tenon_kernels::{Bool, Complex, FromNumber, Number, bf16, f16};

use super::argument::{Argument, Attribute};
use super::call::Call;
use super::list::elements;
use super::tensor::Tensor;
use crate::error::{Error, Result};

/// Where a `phi::Attribute`, a variant of 64 bytes, says which of its types it holds. The same from 2.6 to 3.3.
const TAG_OFFSET: usize = 48;
/// The tag of a reference to a tensor.
const TENSOR: u8 = 18;
/// The tag of a list of such references.
const TENSORS: u8 = 19;

/// An attribute that is left in tensors.
enum Deferred<'c> {
    One(Tensor<'c>),
    Many(Vec<Tensor<'c>>),
}

impl<'c> Deferred<'c> {
    /// The tensors of an attribute; `None` if it is there itself, or cannot be looked at.
    ///
    /// # Safety
    /// As for [`Argument::from_context`].
    unsafe fn find(
        call: &'c Call,
        name: &'static str,
        context: KernelContext,
        index: usize,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        let attribute: *const u8 = unsafe { call.host.attribute_at(context, index) }?.cast();
        // SAFETY: an attribute has 64 bytes. By the tag it begins with a pointer to a tensor, or with a C++
        // vector of such pointers, which begins with where they begin and end.
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

/// A number of a type that Paddle knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar<'c> {
    call: &'c Call,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Handle(ScalarHandle),
    Read(Number),
}

/// The start of a C++ `phi::Scalar`: what type it has, then a union of all types.
#[repr(C)]
struct Head {
    from_tensor: bool,
    /// In the numbering of C++.
    data_type: i32,
    complex: Complex<f64>,
}

const _: () = assert!(std::mem::offset_of!(Head, data_type) == 4 && std::mem::offset_of!(Head, complex) == 8);

impl<'c> Scalar<'c> {
    /// A scalar of Paddle's.
    ///
    /// # Safety
    /// `raw` is a live one for `'c`.
    pub(super) unsafe fn of_handle(call: &'c Call, raw: *mut PD_Scalar) -> Self {
        Self { call, source: Source::Handle(ScalarHandle::from_raw(raw)) }
    }

    /// As a number with a fraction.
    pub(crate) fn to_f64(self) -> Result<f64> {
        match self.source {
            // SAFETY: the handle is live by the promise to `of_handle`.
            Source::Handle(scalar) => Ok(unsafe { self.call.api().scalar_get_float64_data(scalar) }?),
            Source::Read(number) => Ok(number.to_f64()),
        }
    }

    /// As an integer.
    pub(crate) fn to_i64(self) -> Result<i64> {
        match self.source {
            // SAFETY: the handle is live by the promise to `of_handle`.
            Source::Handle(scalar) => Ok(unsafe { self.call.api().scalar_get_int64_data(scalar) }?),
            Source::Read(number) => Ok(number.to_i64()),
        }
    }

    /// As an element of a tensor.
    pub(crate) fn to<T: FromNumber>(self) -> Result<T> {
        Ok(T::from_number(self.number()?))
    }

    /// The number with its type. The C API does not tell the type, so it is read from the object itself, and
    /// taken only if the C API agrees with it about the number.
    fn number(self) -> Result<Number> {
        let scalar = match self.source {
            Source::Read(number) => return Ok(number),
            Source::Handle(scalar) => scalar,
        };
        let head: *const Head = scalar.as_raw().cast_const().cast();
        // SAFETY: a live scalar has at least the size of `Head` in every release: its union holds a pair of
        // doubles. The first byte is a C++ `bool`, which is not read.
        let (data_type, complex) = unsafe { ((*head).data_type, (*head).complex) };
        let real = self.to_f64()?;
        // In the numbering of C++: bool and integers are 1 to 9, then come float and double, complex, and the
        // others, which are real too.
        let number = match data_type {
            1..=9 => Number::Integer(self.to_i64()?),
            12 => {
                let half = bytemuck_first(complex);
                Number::Complex(Complex::new(half.re.into(), half.im.into()))
            }
            13 => Number::Complex(complex),
            _ => Number::Real(real),
        };
        let agrees = number.to_f64() == real || (number.to_f64().is_nan() && real.is_nan());
        if agrees { Ok(number) } else { Err(Error::broken("a scalar is not laid out as expected")) }
    }
}
