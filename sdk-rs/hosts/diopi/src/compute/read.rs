//! The arguments of a call, as passed by the host.

use std::ffi::{CStr, c_char};

use tenon::device::{Error, Result};

use super::call::Call;
use super::list::{list, missing};
use super::number::Number;
use super::tensor::Tensor;
use crate::error::{refused, unsupported};
use crate::host::runtime;
use crate::runtime::{self as diopi, Dtype, ffi};

/// A random number generator of the host, with the name of the argument. Drawing without a generator is an
/// error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator(&'static str, Option<diopi::Generator>);

/// The location where a function stores a tensor that it creates, or the first one of a list of a fixed length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(*mut ffi::diopiTensorHandle_t);

impl Place {
    /// Returns the locations of several results, for a function whose list of results has a fixed length.
    pub(crate) fn list<const N: usize>(self) -> [Self; N] {
        std::array::from_fn(|n| Self(self.0.wrapping_add(n)))
    }
}

/// Returns the number of tensors in a list.
fn list_len(name: &str, count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::invalid(format!("`{name}` has {count} elements")))
}

/// Each function reads an argument. Handles and pointers must be null or valid until the call ends.
#[allow(clippy::unused_self, reason = "results live as long as the call")]
impl Call {
    pub(crate) unsafe fn tensor(&self, name: &str, raw: ffi::diopiTensorHandle_t) -> Result<Tensor<'_>> {
        // SAFETY: the caller's promise.
        unsafe { self.optional_tensor(name, raw) }?.ok_or_else(|| missing(name))
    }

    pub(crate) unsafe fn optional_tensor(
        &self,
        name: &str,
        raw: ffi::diopiTensorHandle_t,
    ) -> Result<Option<Tensor<'_>>> {
        if raw.is_null() {
            Ok(None)
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.view(name, diopi::Tensor::from_raw(raw)) }.map(Some)
        }
    }

    pub(crate) unsafe fn tensors(
        &self,
        name: &str,
        raw: *const ffi::diopiTensorHandle_t,
        count: i64,
    ) -> Result<Vec<Tensor<'_>>> {
        let count = list_len(name, count)?;
        if raw.is_null() && count > 0 {
            return Err(missing(name));
        }
        // SAFETY: the caller's promise.
        (0..count).map(|index| unsafe { self.tensor(name, *raw.add(index)) }).collect()
    }

    pub(crate) unsafe fn optional_tensors(
        &self,
        name: &str,
        raw: *const ffi::diopiTensorHandle_t,
        count: i64,
    ) -> Result<Vec<Option<Tensor<'_>>>> {
        let count = list_len(name, count)?;
        if raw.is_null() {
            return Ok(vec![None; count]);
        }
        // SAFETY: the caller's promise.
        (0..count).map(|index| unsafe { self.optional_tensor(name, *raw.add(index)) }).collect()
    }

    pub(crate) unsafe fn number(&self, name: &str, raw: *const ffi::diopiScalar_t) -> Result<Number> {
        // SAFETY: the caller's promise.
        unsafe { self.optional_number(name, raw) }?.ok_or_else(|| missing(name))
    }

    pub(crate) unsafe fn optional_number(
        &self,
        name: &str,
        raw: *const ffi::diopiScalar_t,
    ) -> Result<Option<Number>> {
        // SAFETY: the caller's promise.
        let Some(scalar) = (unsafe { raw.as_ref() }) else { return Ok(None) };
        // SAFETY: the type determines the active member of the union.
        let (real, integer) = unsafe { (scalar.value.fval, scalar.value.ival) };
        Ok(Some(match scalar.stype {
            Dtype::FLOAT16 | Dtype::BFLOAT16 | Dtype::FLOAT32 | Dtype::FLOAT64 => Number::Float(real),
            Dtype::BOOLEAN => Number::Bool(integer != 0),
            Dtype(0..=7) => Number::Integer(integer),
            other => {
                return Err(unsupported(format!(
                    "`{name}` has the type {other:?}, which is not implemented"
                )));
            }
        }))
    }

    pub(crate) unsafe fn integers(&self, name: &str, size: ffi::diopiSize_t) -> Result<&[i64]> {
        // SAFETY: the caller's promise.
        unsafe { list(name, &size) }
    }

    pub(crate) unsafe fn optional_integers(
        &self,
        name: &str,
        size: *const ffi::diopiSize_t,
    ) -> Result<Option<&[i64]>> {
        // SAFETY: the caller's promise.
        unsafe { size.as_ref().map(|size| list(name, size)).transpose() }
    }

    pub(crate) unsafe fn text(&self, name: &str, raw: *const c_char) -> Result<&str> {
        if raw.is_null() {
            return Err(missing(name));
        }
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(raw) }
            .to_str()
            .map_err(|_| Error::invalid(format!("`{name}` is not text in UTF-8")))
    }

    #[allow(clippy::unnecessary_wraps, reason = "as for the other arguments")]
    pub(crate) unsafe fn generator(
        &self,
        name: &'static str,
        raw: ffi::diopiGeneratorHandle_t,
    ) -> Result<Generator> {
        Ok(Generator(name, (!raw.is_null()).then(|| diopi::Generator::from_raw(raw))))
    }

    pub(crate) unsafe fn place(&self, name: &str, raw: *mut ffi::diopiTensorHandle_t) -> Result<Place> {
        if raw.is_null() { Err(missing(name)) } else { Ok(Place(raw)) }
    }

    #[allow(clippy::unnecessary_wraps, reason = "as for the other arguments")]
    pub(crate) unsafe fn optional_place(
        &self,
        _name: &str,
        raw: *mut ffi::diopiTensorHandle_t,
    ) -> Result<Option<Place>> {
        Ok((!raw.is_null()).then_some(Place(raw)))
    }

    pub(crate) unsafe fn target<'t, T>(&self, name: &str, raw: *mut T) -> Result<&'t mut T> {
        // SAFETY: the caller's promise.
        unsafe { raw.as_mut() }.ok_or_else(|| missing(name))
    }

    pub(crate) unsafe fn optional_value<T: Copy>(&self, raw: *const T) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { raw.as_ref() }.copied()
    }

    /// Returns the seed and the offset of a generator, and advances it by the number of values.
    pub(crate) fn draw(&self, generator: Generator, count: usize) -> Result<(i64, i64)> {
        let Generator(name, handle) = generator;
        let handle = handle.ok_or_else(|| missing(name))?;
        // SAFETY: the host passes a live generator.
        unsafe {
            let (seed, offset) = runtime().generator_get_seed_and_offset(handle).map_err(refused)?;
            let next = offset.wrapping_add(count as u64);
            runtime().generator_set_seed_and_offset(handle, seed, next).map_err(refused)?;
            Ok((seed.cast_signed(), offset.cast_signed()))
        }
    }

    /// Creates a tensor of the host, and stores its handle for the caller.
    pub(crate) fn make(
        &self,
        place: Place,
        ty: tenon::device::DataType,
        dims: &[usize],
    ) -> Result<Tensor<'_>> {
        self.make_strided(place, ty, dims, None)
    }

    /// Creates a tensor as [`make`](Self::make) does, with strides other than row-major.
    pub(crate) fn make_strided(
        &self,
        place: Place,
        ty: tenon::device::DataType,
        dims: &[usize],
        strides: Option<&[i64]>,
    ) -> Result<Tensor<'_>> {
        let (made, view) = self.require("the result", ty, dims, strides)?;
        // SAFETY: the address is not null and therefore valid, as is each one of the list that a function fills.
        unsafe { *place.0 = made.as_raw() };
        Ok(view)
    }
}
