//! Views of the same memory with another layout.

use super::{Memory, PerDimension, View, ViewMut};
use crate::error::{Error, Result, expect_length};

impl Memory {
    /// Returns a view of the same memory with another layout. Its first element is `offset` elements after
    /// that of this tensor.
    fn relaid(&self, offset: isize, dims: PerDimension<usize>, strides: PerDimension<isize>) -> Result<Self> {
        let first = self.base.wrapping_add(self.before * self.dtype.size());
        let offset = if dims.contains(&0) { 0 } else { offset };
        Self::new(first.wrapping_offset(offset * self.dtype.size() as isize), self.dtype, &dims, &strides)
    }

    fn check_axis(&self, axis: usize) -> Result<()> {
        if axis < self.dims.len() { Ok(()) } else { Err(Error::Axis { axis, rank: self.dims.len() }) }
    }

    fn step(&self, axis: usize, start: usize, step: isize, len: usize) -> Result<Self> {
        self.check_axis(axis)?;
        let dim = self.dims[axis];
        if len > 0 {
            let last = step.checked_mul(len as isize - 1).and_then(|way| start.checked_add_signed(way));
            for index in [Some(start), last] {
                let index = index.ok_or(Error::Overflow)?;
                if index >= dim {
                    return Err(Error::Index { index: index as i64, len: dim });
                }
            }
        }
        let (mut dims, mut strides) = (self.dims.clone(), self.strides.clone());
        let offset = start as isize * strides[axis];
        dims[axis] = len;
        strides[axis] = strides[axis].saturating_mul(step);
        self.relaid(offset, dims, strides)
    }

    fn select(&self, axis: usize, index: usize) -> Result<Self> {
        let mut row = self.step(axis, index, 1, 1)?;
        row.dims.remove(axis);
        row.strides.remove(axis);
        Ok(row)
    }

    fn permute(&self, axes: &[usize]) -> Result<Self> {
        let rank = self.dims.len();
        if axes.len() != rank {
            return Err(Error::Rank { dims: rank, strides: axes.len() });
        }
        for (position, &axis) in axes.iter().enumerate() {
            if axis >= rank || axes[..position].contains(&axis) {
                return Err(Error::Axis { axis, rank });
            }
        }
        let (dims, strides) = axes.iter().map(|&axis| (self.dims[axis], self.strides[axis])).unzip();
        self.relaid(0, dims, strides)
    }

    fn split(&self, axis: usize, parts: &[usize]) -> Result<Self> {
        self.check_axis(axis)?;
        let product = parts.iter().try_fold(1_usize, |product, &part| product.checked_mul(part));
        if product != Some(self.dims[axis]) {
            return Err(Error::Shape { expected: vec![self.dims[axis]], actual: parts.to_vec() });
        }
        let (mut dims, mut strides) = (self.dims.clone(), self.strides.clone());
        (dims[axis], strides[axis]) = (1, 0);
        let mut stride = self.strides[axis];
        for &part in parts.iter().rev() {
            dims.insert(axis, part);
            strides.insert(axis, stride);
            stride = stride.saturating_mul(part as isize);
        }
        dims.remove(axis + parts.len());
        strides.remove(axis + parts.len());
        self.relaid(0, dims, strides)
    }

    fn insert(&self, axis: usize) -> Result<Self> {
        if axis > self.dims.len() {
            return Err(Error::Axis { axis, rank: self.dims.len() });
        }
        let (mut dims, mut strides) = (self.dims.clone(), self.strides.clone());
        dims.insert(axis, 1);
        strides.insert(axis, 1);
        self.relaid(0, dims, strides)
    }

    fn diagonal(&self, offset: i64, axis1: usize, axis2: usize) -> Result<Self> {
        self.check_axis(axis1)?;
        self.check_axis(axis2)?;
        if axis1 == axis2 {
            return Err(Error::Axis { axis: axis2, rank: self.dims.len() });
        }
        let steps = usize::try_from(offset.unsigned_abs()).map_err(|_| Error::Overflow)?;
        let (down, right) = if offset < 0 { (steps, 0) } else { (0, steps) };
        let len = self.dims[axis1].saturating_sub(down).min(self.dims[axis2].saturating_sub(right));
        let (mut dims, mut strides) = (self.dims.clone(), self.strides.clone());
        let (stride1, stride2) = (strides[axis1], strides[axis2]);
        for axis in [axis1.max(axis2), axis1.min(axis2)] {
            dims.remove(axis);
            strides.remove(axis);
        }
        dims.push(len);
        strides.push(stride1 + stride2);
        let start = if len == 0 { 0 } else { down as isize * stride1 + right as isize * stride2 };
        self.relaid(start, dims, strides)
    }
}

macro_rules! layouts {
    ($($view:ident)*) => {$(
        impl $view<'_> {
            /// Returns the part with `len` elements along a dimension, starting at `start` with the given
            /// step.
            ///
            /// # Errors
            /// [`Error::Axis`], [`Error::Index`].
            pub(crate) fn step(self, axis: usize, start: usize, step: isize, len: usize) -> Result<Self> {
                Ok(Self { memory: self.memory.step(axis, start, step, len)?, ..self })
            }

            /// Returns the part with `len` consecutive elements along a dimension, starting at `start`.
            ///
            /// # Errors
            /// As [`step`](Self::step).
            pub(crate) fn narrow(self, axis: usize, start: usize, len: usize) -> Result<Self> {
                self.step(axis, start, 1, len)
            }

            /// Returns the elements at an index of a dimension. The result lacks that dimension.
            ///
            /// # Errors
            /// As [`step`](Self::step).
            pub(crate) fn select(self, axis: usize, index: usize) -> Result<Self> {
                Ok(Self { memory: self.memory.select(axis, index)?, ..self })
            }

            /// Returns a tensor with one element as a tensor without dimensions; `what` names it in the error.
            ///
            /// # Errors
            /// [`Error::Length`].
            pub(crate) fn scalar(mut self, what: &'static str) -> Result<Self> {
                expect_length(what, 1, self.len())?;
                while !self.dims().is_empty() {
                    self = self.select(0, 0)?;
                }
                Ok(self)
            }

            /// Permutes the dimensions.
            ///
            /// # Errors
            /// [`Error::Rank`], [`Error::Axis`].
            pub(crate) fn permute(self, axes: &[usize]) -> Result<Self> {
                Ok(Self { memory: self.memory.permute(axes)?, ..self })
            }

            /// Splits one dimension into several. The product of their lengths must be its length.
            ///
            /// # Errors
            /// [`Error::Axis`], [`Error::Shape`].
            pub(crate) fn split(self, axis: usize, parts: &[usize]) -> Result<Self> {
                Ok(Self { memory: self.memory.split(axis, parts)?, ..self })
            }

            /// Inserts a dimension of length one.
            ///
            /// # Errors
            /// [`Error::Axis`].
            pub(crate) fn insert(self, axis: usize) -> Result<Self> {
                Ok(Self { memory: self.memory.insert(axis)?, ..self })
            }

            /// Returns the diagonal of two dimensions, which replaces them as the last dimension.
            ///
            /// # Errors
            /// [`Error::Axis`], [`Error::Overflow`].
            pub(crate) fn diagonal(self, offset: i64, axis1: usize, axis2: usize) -> Result<Self> {
                Ok(Self { memory: self.memory.diagonal(offset, axis1, axis2)?, ..self })
            }
        }
    )*};
}
layouts!(View ViewMut);

impl View<'_> {
    /// Broadcasts the tensor to a shape.
    ///
    /// # Errors
    /// [`Error::Broadcast`].
    pub(crate) fn expand(self, dims: &[usize]) -> Result<Self> {
        let strides = self.broadcast_strides(dims)?;
        Ok(Self { memory: self.memory.relaid(0, dims.into(), strides)?, ..self })
    }
}
