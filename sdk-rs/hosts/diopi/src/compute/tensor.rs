//! Tensors of a call: views of the host's tensors, and of temporary memory.

use smallvec::SmallVec;
use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};
use tenon_operators::{Layout, TensorMut, TensorRef, contiguous_strides};

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
        // A tensor without dimensions has the dimensions 0 and -1.
        let rank = self.rank().max(1) as i64;
        if (-rank..rank).contains(&dim) {
            Ok(dim.rem_euclid(rank) as usize)
        } else {
            Err(Error::invalid(format!("there is no dimension {dim} in the shape {:?}", self.dims())))
        }
    }

    /// Returns a view with other dimensions and strides, starting at an offset from the first element.
    fn laid_out(&self, dims: &[usize], strides: &[isize], offset: isize) -> Result<Self> {
        let size = self.data_type().size().unwrap_or(1) as isize;
        let first = self.view.first().addr().wrapping_add_signed(offset * size);
        // SAFETY: callers select elements of this tensor.
        unsafe { Self::new(DevicePtr::from_addr(first), self.data_type(), dims, strides) }
    }

    /// Returns a view with the dimensions permuted: `order[i]` is the old position of the new dimension `i`.
    pub(crate) fn permuted(&self, order: &[usize]) -> Result<Self> {
        let dims: Vec<_> = order.iter().map(|&old| self.dims()[old]).collect();
        let strides: Vec<_> = order.iter().map(|&old| self.strides()[old]).collect();
        self.laid_out(&dims, &strides, 0)
    }

    /// Returns a view with two dimensions swapped.
    pub(crate) fn transposed(&self, one: usize, other: usize) -> Result<Self> {
        let mut order: Vec<usize> = (0..self.rank()).collect();
        if !order.is_empty() {
            order.swap(one, other);
        }
        self.permuted(&order)
    }

    /// Returns a view that is broadcast to a larger shape by NumPy's rules.
    pub(crate) fn expanded(&self, dims: &[usize]) -> Result<Self> {
        let refuse =
            || Error::invalid(format!("the shape {:?} cannot be broadcast to {dims:?}", self.dims()));
        let added = dims.len().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides = vec![0; added];
        for (&dim, (&own, &stride)) in dims[added..].iter().zip(self.dims().iter().zip(self.strides())) {
            strides.push(match own {
                own if own == dim => stride,
                1 => 0,
                _ => return Err(refuse()),
            });
        }
        self.laid_out(dims, &strides, 0)
    }

    /// Returns a view with a dimension of length one inserted.
    pub(crate) fn unsqueezed(&self, dim: usize) -> Result<Self> {
        let (mut dims, mut strides) = (self.dims().to_vec(), self.strides().to_vec());
        dims.insert(dim, 1);
        strides.insert(dim, 1);
        self.laid_out(&dims, &strides, 0)
    }

    /// Returns a view with a dimension split in two, of which the second has the given length.
    pub(crate) fn divided(&self, dim: usize, len: usize) -> Result<Self> {
        let (mut dims, mut strides) = (self.dims().to_vec(), self.strides().to_vec());
        if len == 0 || !dims[dim].is_multiple_of(len) {
            return Err(Error::invalid(format!("dimension {dim} of {dims:?} is not a multiple of {len}")));
        }
        dims[dim] /= len;
        dims.insert(dim + 1, len);
        strides.insert(dim, strides[dim] * len as isize);
        self.laid_out(&dims, &strides, 0)
    }

    /// Returns copies of the dimensions and strides, without allocations if there are few dimensions.
    fn lists(&self) -> (SmallVec<[usize; 6]>, SmallVec<[isize; 6]>) {
        (SmallVec::from_slice(self.dims()), SmallVec::from_slice(self.strides()))
    }

    /// Returns a view at an index of a dimension, without that dimension.
    pub(crate) fn selected(&self, dim: usize, index: usize) -> Result<Self> {
        let (mut dims, mut strides) = self.lists();
        if index >= dims[dim] {
            return Err(Error::invalid(format!("the index {index} is out of range in {dims:?}")));
        }
        dims.remove(dim);
        let stride = strides.remove(dim);
        self.laid_out(&dims, &strides, stride * index as isize)
    }

    /// Returns a view of every `step`-th index of a dimension, starting at `start`.
    pub(crate) fn sliced(&self, dim: usize, start: usize, len: usize, step: usize) -> Result<Self> {
        let (mut dims, mut strides) = self.lists();
        if len > 0 && start + (len - 1) * step >= dims[dim] {
            return Err(Error::invalid(format!("a slice of {len} from {start} is out of range in {dims:?}")));
        }
        let offset = if len == 0 { 0 } else { strides[dim] * start as isize };
        dims[dim] = len;
        strides[dim] *= step as isize;
        self.laid_out(&dims, &strides, offset)
    }

    /// Returns a view with at least one dimension, so that there is a dimension 0.
    pub(crate) fn with_a_dimension(&self) -> Result<Self> {
        if self.rank() == 0 { self.unsqueezed(0) } else { Ok(self.clone()) }
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

    /// Returns a view with a different shape and the same number of elements, if the tensor is contiguous.
    pub(crate) fn reshaped(&self, dims: &[usize]) -> Result<Self> {
        if !self.is_contiguous() || dims.iter().product::<usize>() != self.len() {
            return Err(Error::invalid(format!("{:?} cannot be viewed as {dims:?}", self.dims())));
        }
        self.laid_out(dims, &contiguous_strides(dims)?, 0)
    }
}
