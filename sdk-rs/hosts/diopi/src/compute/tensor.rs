//! Tensors of a call: views of the host's tensors, and of temporary memory.

use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};
use tenon_operators::{Layout, TensorMut, TensorRef};

use super::number::Category;

/// A view of a tensor that lives as long as the call.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'c> {
    view: TensorRef<'c>,
}

impl<'c> Tensor<'c> {
    /// Describes a tensor whose first element is at an address.
    ///
    /// # Safety
    /// The elements must be device memory that stays allocated until the call ends and its work is done.
    pub(super) unsafe fn new(
        first: DevicePtr,
        data_type: DataType,
        dims: &[usize],
        strides: &[isize],
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        Ok(Self { view: unsafe { TensorRef::new(first, data_type, Layout::new(dims, strides)?) }? })
    }

    /// Returns the elements for an operator that reads them.
    pub(crate) fn elements(&self) -> &TensorRef<'c> {
        &self.view
    }

    /// Returns the elements for an operator that writes them.
    pub(super) fn as_output(&self) -> Result<TensorMut<'c>> {
        let view = &self.view;
        let layout = Layout::new(view.dims(), view.strides())?;
        // SAFETY: the memory is that of this tensor. The host allows the call to write it, or it is
        // temporary.
        unsafe { TensorMut::new(view.first(), view.data_type(), layout) }
    }

    pub(crate) fn data_type(&self) -> DataType {
        self.view.data_type()
    }

    /// Returns true if the elements are integers or booleans.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(Category::of(self.data_type()), Category::Bool | Category::Integer)
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.view.dims()
    }

    pub(crate) fn strides(&self) -> &[isize] {
        self.view.strides()
    }

    /// Returns the number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.dims().len()
    }

    pub(crate) fn len(&self) -> usize {
        self.view.len()
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        self.view.is_contiguous()
    }

    /// Returns the index of a dimension. Negative numbers count from the end.
    pub(crate) fn dimension(&self, dim: i64) -> Result<usize> {
        self.view.dimension(dim)
    }

    /// Returns a view with the dimensions permuted: `order[i]` is the old position of the new dimension `i`.
    pub(crate) fn permuted(&self, order: &[usize]) -> Result<Self> {
        self.view.permuted(order).map(|view| Self { view })
    }

    /// Returns a view with two dimensions swapped.
    pub(crate) fn transposed(&self, one: usize, other: usize) -> Result<Self> {
        self.view.transposed(one, other).map(|view| Self { view })
    }

    /// Returns a view that is broadcast to a larger shape by NumPy's rules.
    pub(crate) fn expanded(&self, dims: &[usize]) -> Result<Self> {
        self.view.expanded(dims).map(|view| Self { view })
    }

    /// Returns a view with a dimension of length one inserted.
    pub(crate) fn unsqueezed(&self, dim: usize) -> Result<Self> {
        self.view.unsqueezed(dim).map(|view| Self { view })
    }

    /// Returns a view with a dimension split in two, of which the second has the given length.
    pub(crate) fn divided(&self, dim: usize, len: usize) -> Result<Self> {
        self.view.divided(dim, len).map(|view| Self { view })
    }

    /// Returns a view at an index of a dimension, without that dimension.
    pub(crate) fn selected(&self, dim: usize, index: usize) -> Result<Self> {
        self.view.selected(dim, index).map(|view| Self { view })
    }

    /// Returns a view of every `step`-th index of a dimension, starting at `start`.
    pub(crate) fn sliced(&self, dim: usize, start: usize, len: usize, step: usize) -> Result<Self> {
        self.view.sliced(dim, start, len, step).map(|view| Self { view })
    }

    /// Returns a view with at least one dimension, so that there is a dimension 0.
    pub(crate) fn with_a_dimension(&self) -> Result<Self> {
        self.view.with_a_dimension().map(|view| Self { view })
    }

    /// Returns a view with a different shape and the same number of elements, if the tensor is contiguous.
    pub(crate) fn reshaped(&self, dims: &[usize]) -> Result<Self> {
        self.view.reshaped(dims).map(|view| Self { view })
    }

    /// Returns a view of complex numbers as pairs of real numbers in a new last dimension.
    pub(crate) fn as_pairs(&self) -> Result<Self> {
        let ty = match self.data_type() {
            DataType::COMPLEX64 => DataType::FLOAT32,
            DataType::COMPLEX128 => DataType::FLOAT64,
            other => return Err(Error::invalid(format!("complex numbers are expected, not {other:?}"))),
        };
        let dims = [self.dims(), &[2]].concat();
        let strides: Vec<_> = self.strides().iter().map(|stride| 2 * stride).chain([1]).collect();
        // SAFETY: a complex number consists of two real numbers.
        unsafe { Self::new(self.view.first(), ty, &dims, &strides) }
    }

    /// Returns true if the ranges from the first to the last byte of both tensors overlap, so that they may
    /// share elements.
    pub(crate) fn shares_memory(&self, other: &Tensor<'_>) -> Result<bool> {
        Ok(self.as_output()?.shares_memory(other.elements()))
    }
}
