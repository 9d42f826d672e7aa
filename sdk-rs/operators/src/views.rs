//! Views: tensors that are parts of others, or the same elements in another order.

use smallvec::SmallVec;
use tenon::DevicePtr;
use tenon::device::{Error, Result};

use crate::layout::{Layout, contiguous_strides};
use crate::tensor::{TensorMut, TensorRef};

impl TensorRef<'_> {
    /// Returns the index of a dimension. Negative numbers count from the end.
    pub fn dimension(&self, dim: i64) -> Result<usize> {
        // A tensor without dimensions has the dimensions 0 and -1.
        let rank = self.dims().len().max(1) as i64;
        if (-rank..rank).contains(&dim) {
            Ok(dim.rem_euclid(rank) as usize)
        } else {
            Err(Error::invalid(format!("there is no dimension {dim} in the shape {:?}", self.dims())))
        }
    }

    /// Returns a view with other dimensions and strides, starting at an offset from the first element.
    fn laid_out(&self, dims: &[usize], strides: &[isize], offset: isize) -> Result<Self> {
        let size = self.data_type().size().unwrap_or(1) as isize;
        let first = self.first().addr().wrapping_add_signed(offset * size);
        // SAFETY: callers select elements of this tensor.
        let view =
            unsafe { Self::new(DevicePtr::from_addr(first), self.data_type(), Layout::new(dims, strides)?)? };
        match self.constant() {
            Some(constant) if offset == 0 => Ok(view.of_constant(constant)),
            _ => Ok(view),
        }
    }

    /// Returns a view with the dimensions permuted: `order[i]` is the old position of the new dimension `i`.
    pub fn permuted(&self, order: &[usize]) -> Result<Self> {
        let dims: Vec<_> = order.iter().map(|&old| self.dims()[old]).collect();
        let strides: Vec<_> = order.iter().map(|&old| self.strides()[old]).collect();
        self.laid_out(&dims, &strides, 0)
    }

    /// Returns a view with two dimensions swapped.
    pub fn transposed(&self, one: usize, other: usize) -> Result<Self> {
        let mut order: Vec<usize> = (0..self.dims().len()).collect();
        if !order.is_empty() {
            order.swap(one, other);
        }
        self.permuted(&order)
    }

    /// Returns a view that is broadcast to a larger shape by NumPy's rules.
    pub fn expanded(&self, dims: &[usize]) -> Result<Self> {
        let refuse =
            || Error::invalid(format!("the shape {:?} cannot be broadcast to {dims:?}", self.dims()));
        let added = dims.len().checked_sub(self.dims().len()).ok_or_else(refuse)?;
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
    pub fn unsqueezed(&self, dim: usize) -> Result<Self> {
        let (mut dims, mut strides) = (self.dims().to_vec(), self.strides().to_vec());
        dims.insert(dim, 1);
        strides.insert(dim, 1);
        self.laid_out(&dims, &strides, 0)
    }

    /// Returns a view with a dimension split in two, of which the second has the given length.
    pub fn divided(&self, dim: usize, len: usize) -> Result<Self> {
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
    fn lists(&self) -> (SmallVec<[usize; 4]>, SmallVec<[isize; 4]>) {
        (SmallVec::from_slice(self.dims()), SmallVec::from_slice(self.strides()))
    }

    /// Returns a view at an index of a dimension, without that dimension.
    pub fn selected(&self, dim: usize, index: usize) -> Result<Self> {
        let (mut dims, mut strides) = self.lists();
        if index >= dims[dim] {
            return Err(Error::invalid(format!("the index {index} is out of range in {dims:?}")));
        }
        dims.remove(dim);
        let stride = strides.remove(dim);
        self.laid_out(&dims, &strides, stride * index as isize)
    }

    /// Returns a view of every `step`-th index of a dimension, starting at `start`.
    pub fn sliced(&self, dim: usize, start: usize, len: usize, step: usize) -> Result<Self> {
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
    pub fn with_a_dimension(&self) -> Result<Self> {
        if self.dims().is_empty() { self.unsqueezed(0) } else { Ok(self.clone()) }
    }

    /// Returns a view with a different shape and the same number of elements, if the tensor is contiguous.
    pub fn reshaped(&self, dims: &[usize]) -> Result<Self> {
        if !self.is_contiguous() || dims.iter().product::<usize>() != self.len() {
            return Err(Error::invalid(format!("{:?} cannot be viewed as {dims:?}", self.dims())));
        }
        self.laid_out(dims, &contiguous_strides(dims)?, 0)
    }
}

impl TensorMut<'_> {
    /// Returns a view with a different shape, as [`TensorRef::reshaped`] does.
    pub fn reshaped(&mut self, dims: &[usize]) -> Result<TensorMut<'_>> {
        self.part(|whole| whole.reshaped(dims))
    }

    /// Returns a view of some indices of a dimension, as [`TensorRef::sliced`] does.
    pub fn sliced(&mut self, dim: usize, start: usize, len: usize, step: usize) -> Result<TensorMut<'_>> {
        self.part(|whole| whole.sliced(dim, start, len, step))
    }
}
