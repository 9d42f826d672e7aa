//! The tensors of the host.

use smallvec::SmallVec;
use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};
use tenon_operators::{TensorMut, TensorRef};

use super::info::of_host;
use crate::api::runtime::{ElementType, OnnxRuntime, Value};
use crate::element::data_type;

/// One number for each dimension: few tensors have more than four.
pub(super) type Shape<T> = SmallVec<[T; 4]>;

/// The elements of a value of the host.
pub(super) struct Elements<'v> {
    pub(super) value: Value,
    pub(super) element: ElementType,
    pub(super) dims: &'v [i64],
}

impl<'v> Elements<'v> {
    /// # Safety
    /// The value is a tensor that lives as long as the elements.
    pub(super) unsafe fn of(runtime: &OnnxRuntime, value: Value) -> Result<Self> {
        let (mut dims, mut rank) = (std::ptr::null(), 0);
        // SAFETY: the caller's promise; the host writes a list with as many numbers as it says.
        unsafe {
            let element = of_host(runtime.tensor_shape(value, &raw mut dims, &raw mut rank))?;
            let dims = if rank == 0 { &[][..] } else { std::slice::from_raw_parts(dims, rank) };
            Ok(Self { value, element, dims })
        }
    }

    /// Returns the type of the elements on a device.
    pub(super) fn data_type(&self) -> Result<DataType> {
        data_type(self.element).ok_or_else(|| Error::unsupported("elements of this type"))
    }

    /// Returns the address of the first element.
    ///
    /// # Safety
    /// The value is alive.
    unsafe fn first(&self, runtime: &OnnxRuntime) -> Result<DevicePtr> {
        // SAFETY: the caller's promise.
        of_host(unsafe { runtime.tensor_data(self.value) }).map(|first| DevicePtr::from_ptr(first.as_ptr()))
    }

    /// Returns the tensor for operators that read it.
    ///
    /// # Safety
    /// It is memory of the device, and stays until the work of the operators is done.
    #[inline]
    pub(super) unsafe fn view(&self, runtime: &OnnxRuntime) -> Result<TensorRef<'v>> {
        // SAFETY: the caller's promise.
        unsafe { TensorRef::contiguous(self.first(runtime)?, self.data_type()?, &lengths(self.dims)?) }
    }

    /// Returns the tensor for operators that write it.
    ///
    /// # Safety
    /// As for [`view`](Self::view), and nothing else uses the elements.
    #[inline]
    pub(super) unsafe fn view_mut(&self, runtime: &OnnxRuntime) -> Result<TensorMut<'v>> {
        // SAFETY: the caller's promise.
        unsafe { TensorMut::contiguous(self.first(runtime)?, self.data_type()?, &lengths(self.dims)?) }
    }
}

/// Returns dimensions as lengths.
pub(super) fn lengths(dims: &[i64]) -> Result<Shape<usize>> {
    let length =
        |dim: &i64| usize::try_from(*dim).map_err(|_| Error::invalid(format!("a dimension is {dim}")));
    dims.iter().map(length).collect()
}
