//! Rows of indices that each select a single element along a dimension.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::loops::simd::wide;
use crate::tensor::axis;

/// The rows of an index tensor, and where the elements that they select are in a row-major tensor.
///
/// In the other dimensions, an element has the position of its index. The `n`-th index of a row that begins at `start`
/// selects the element `start + n * step + own * stride`, where `own` is the index counted from the start.
#[derive(Debug)]
pub(super) struct Rows {
    /// The length of the dimension of the elements.
    len: usize,
    pub(super) stride: usize,
    pub(super) step: usize,
    /// The shape of the index, and the distance of the selected elements along each dimension.
    dims: Vec<usize>,
    strides: Vec<usize>,
}

impl Rows {
    /// Describes the rows of an index with the shape `dims`, for elements of a tensor with the shape `x`.
    ///
    /// # Errors
    /// [`Error::Axis`], and [`Error::Shape`] if the index is longer than the tensor in another dimension.
    pub(super) fn new(x: &[usize], dims: &[usize], axis: i64) -> Result<Self> {
        let axis = axis::axis(axis, x.len())?;
        let fits = dims.len() == x.len() && (0..x.len()).all(|n| n == axis || dims[n] <= x[n]);
        if !fits {
            return Err(Error::Shape { expected: x.to_vec(), actual: dims.to_vec() });
        }
        let mut strides: Vec<usize> = (0..x.len()).map(|n| x[n + 1..].iter().product()).collect();
        let stride = std::mem::take(&mut strides[axis]);
        let step = strides.last().copied().unwrap_or_default();
        Ok(Self { len: x[axis], stride, step, dims: dims.to_vec(), strides })
    }

    /// Returns an error if an index is out of range.
    pub(super) fn check(&self, numbers: &[i64]) -> Result<()> {
        let len = self.len as i64;
        // Every index is looked at, so that the compiler vectorises the loop.
        let any = wide(
            #[inline(always)]
            move || {
                let mut any = 0;
                for &number in numbers {
                    any |= u32::from(number >= len) | u32::from(number < -len);
                }
                any != 0
            },
        );
        match numbers.iter().find(|&&number| any && (number >= len || number < -len)) {
            Some(&index) => Err(Error::Index { index, len: self.len }),
            None => Ok(()),
        }
    }

    /// Returns an index that has been checked, counted from the start.
    pub(super) fn own(&self, number: i64) -> usize {
        (if number < 0 { number + self.len as i64 } else { number }) as usize
    }

    /// Calls `visit` with each row of indices and its start.
    pub(super) fn each(&self, mut visit: impl FnMut(Range<usize>, usize)) {
        let Some((&width, outer)) = self.dims.split_last() else { return };
        if self.dims.contains(&0) {
            return;
        }
        let mut counter = vec![0; outer.len()];
        for row in 0..outer.iter().product() {
            let start = counter.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum();
            visit(row * width..(row + 1) * width, start);
            for (at, &dim) in counter.iter_mut().zip(outer).rev() {
                *at += 1;
                if *at < dim {
                    break;
                }
                *at = 0;
            }
        }
    }

    /// Copies the selected elements of a tensor. The indices have been checked.
    pub(super) fn take<W: Copy>(&self, out: &mut [W], x: &[W], numbers: &[i64]) {
        if self.step != 0 {
            self.each(|row, start| {
                let places = out[row.clone()].iter_mut().zip(&numbers[row]).enumerate();
                places.for_each(|(n, (out, &number))| {
                    *out = x[start + n * self.step + self.own(number) * self.stride];
                });
            });
            return;
        }
        // The last dimension: the elements of a row are neighbours.
        self.each(|row, start| {
            let source = &x[start..][..self.len];
            for (out, &number) in out[row.clone()].iter_mut().zip(&numbers[row]) {
                // Most indices are not negative.
                *out = match source.get(number as usize) {
                    Some(&value) => value,
                    None => source[self.own(number)],
                };
            }
        });
    }
}
