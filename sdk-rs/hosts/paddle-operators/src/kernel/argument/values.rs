//! Elements of a tensor as host numbers, for attributes that Paddle passes in tensors.
//!
//! Such a tensor may be in host memory or in device memory, and the C API does not report which. The
//! allocation does.

use std::ffi::c_void;

use crate::paddle::{KernelPlace, PaddleApi};
use tenon::DevicePtr;
use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::argument::float16::{Bf16, F16};
use crate::kernel::element::{Bool, Complex, Element, Number};
use crate::kernel::tensor::{Tensor, Window};

/// The members of a C++ `phi::Allocation`, which are the same from 2.6 to 3.3. `place` is the first byte of a
/// `phi::Place`.
#[repr(C)]
struct Allocation {
    functions: *const c_void,
    memory: *mut c_void,
    size: usize,
    deleter: *const c_void,
    place: [u64; 2],
}

impl Tensor<'_> {
    /// Returns the only element as a number of its type.
    pub(crate) fn number(self) -> Result<Number> {
        match self.numbers()?[..] {
            [number] => Ok(number),
            ref numbers => {
                Err(Error::invalid(format!("`{}` has {} elements, not one", self.name, numbers.len())))
            }
        }
    }

    /// Returns the elements as integers.
    pub(in crate::kernel) fn integers(self) -> Result<Vec<i64>> {
        Ok(self.numbers()?.into_iter().map(Number::to_i64).collect())
    }

    fn numbers(self) -> Result<Vec<Number>> {
        match self.data_type()? {
            DataType::BOOL => self.all::<Bool>(),
            DataType::UINT8 => self.all::<u8>(),
            DataType::INT8 => self.all::<i8>(),
            DataType::INT16 => self.all::<i16>(),
            DataType::INT32 => self.all::<i32>(),
            DataType::INT64 => self.all::<i64>(),
            DataType::FLOAT16 => self.all::<F16>(),
            DataType::BFLOAT16 => self.all::<Bf16>(),
            DataType::FLOAT32 => self.all::<f32>(),
            DataType::FLOAT64 => self.all::<f64>(),
            DataType::COMPLEX64 => self.all::<Complex<f32>>(),
            DataType::COMPLEX128 => self.all::<Complex<f64>>(),
            other => Err(Error::unimplemented(format!("`{}` has elements of type {other:?}", self.name))),
        }
    }

    fn all<T: Element>(self) -> Result<Vec<Number>> {
        let numbers = |elements: &[T]| elements.iter().map(|element| element.to_number()).collect();
        if self.call.has_host_memory() || self.len()? == 0 || self.is_in_host_memory()? {
            return Ok(numbers(self.read::<T>()?));
        }
        self.expect_contiguous()?;
        let span = self.span::<T>(Window::first(self.len()?))?;
        let mut copy = vec![T::from_number(Number::Integer(0)); self.len()?];
        // SAFETY: the bytes are those of the elements, for which every bit pattern is valid.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(copy.as_mut_ptr().cast::<u8>(), size_of_val(&copy[..])) };
        self.call.copy_to_host(bytes, DevicePtr::from_addr(span.start))?;
        Ok(numbers(&copy))
    }

    /// Returns true if the memory of a non-empty tensor is host memory.
    ///
    /// # Errors
    /// The allocation differs from those of the known releases, so its memory must not be read.
    pub(crate) fn is_in_host_memory(self) -> Result<bool> {
        let holder = self.ask(PaddleApi::tensor_get_holder)?;
        let data = self.ask(PaddleApi::tensor_get_data_pointer)?;
        let offset = self.ask(PaddleApi::tensor_get_offset)?;
        let unknown = || Error::broken(format!("the memory of `{}` may be that of the device", self.name));
        if holder.is_null() {
            return Err(unknown());
        }
        let allocation: *mut Allocation = holder.cast();
        // SAFETY: a tensor with elements keeps its allocation, which has these members in every known
        // release. The check that it refers to the tensor's memory confirms the layout.
        let memory = unsafe { (*allocation).memory };
        if memory.addr().checked_add(offset) != Some(data.addr()) {
            return Err(unknown());
        }
        // SAFETY: the place is a member of a live allocation.
        let place = KernelPlace::from_raw(unsafe { (&raw mut (*allocation).place).cast() });
        // SAFETY: as above; the function only reads the place.
        Ok(unsafe { self.call.api().place_is_host(place) }?)
    }
}
