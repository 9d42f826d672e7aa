//! Tensors that own their memory, for intermediate results.

use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::strided::contiguous_strides;
use crate::tensor::{View, ViewMut};

/// A tensor that owns its memory. Its elements are in row-major order.
#[derive(Debug)]
pub struct Buffer {
    /// Numbers of 16 bytes, so that elements of every type are aligned.
    memory: Vec<u128>,
    dtype: DType,
    dims: Vec<usize>,
    strides: Vec<isize>,
}

impl Buffer {
    /// Creates a tensor of zeros.
    ///
    /// # Errors
    /// [`Error::Overflow`] if the shape is larger than the address space.
    pub fn new(dtype: DType, dims: &[usize]) -> Result<Self> {
        let strides = contiguous_strides(dims)?;
        let bytes = dims.iter().product::<usize>().checked_mul(dtype.size()).ok_or(Error::Overflow)?;
        let memory = vec![0; bytes.div_ceil(size_of::<u128>())];
        Ok(Self { memory, dtype, dims: dims.to_vec(), strides })
    }

    /// Changes the shape. The elements stay as they are.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements differs.
    pub(crate) fn reshape(&mut self, dims: &[usize]) -> Result<()> {
        if dims.iter().product::<usize>() != self.dims.iter().product::<usize>() {
            return Err(Error::Shape { expected: self.dims.clone(), actual: dims.to_vec() });
        }
        self.strides = contiguous_strides(dims)?;
        self.dims = dims.to_vec();
        Ok(())
    }

    /// Returns a read-only view of the tensor.
    ///
    /// # Errors
    /// None: [`Buffer::new`] has checked the shape.
    pub fn view(&self) -> Result<View<'_>> {
        // SAFETY: the memory holds all elements of the shape; the borrow prevents writes.
        unsafe { View::from_raw(self.memory.as_ptr().cast(), self.dtype, &self.dims, &self.strides) }
    }

    /// Returns a writable view of the tensor.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn view_mut(&mut self) -> Result<ViewMut<'_>> {
        // SAFETY: the memory holds all elements of the shape; the borrow is the only one.
        unsafe { ViewMut::from_raw(self.memory.as_mut_ptr().cast(), self.dtype, &self.dims, &self.strides) }
    }
}
