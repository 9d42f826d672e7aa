//! Dimension numbers as frameworks use them: negative ones count from the end.

use crate::error::{Error, Result};

/// Resolves an axis to a dimension index; negative numbers count from the end.
///
/// # Errors
/// [`Error::Axis`].
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let refused = || Error::Axis { axis: axis.unsigned_abs() as usize, rank };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(refused)
}

/// Resolves an axis as [`axis()`] does; a tensor without dimensions counts as a vector of one element and yields
/// `None`.
///
/// # Errors
/// [`Error::Axis`].
pub(crate) fn axis_or_scalar(number: i64, rank: usize) -> Result<Option<usize>> {
    match rank {
        0 => axis(number, 1).map(|_| None),
        _ => axis(number, rank).map(Some),
    }
}

/// Resolves each axis to a dimension index and rejects duplicates.
///
/// # Errors
/// [`Error::Axis`].
pub(crate) fn axes(numbers: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(numbers.len());
    for &number in numbers {
        let axis = axis(number, rank)?;
        if found.contains(&axis) {
            return Err(Error::Axis { axis, rank });
        }
        found.push(axis);
    }
    Ok(found)
}

/// Resolves an index into a dimension of length `len`; negative numbers count from the end.
///
/// # Errors
/// [`Error::Index`].
pub(crate) fn index(number: i64, len: usize) -> Result<usize> {
    let from_start = if number < 0 { number.checked_add(len as i64) } else { Some(number) };
    let from_start = from_start.and_then(|index| usize::try_from(index).ok());
    from_start.filter(|&index| index < len).ok_or(Error::Index { index: number, len })
}

/// A shape split at one dimension: the numbers of elements before, along and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) outer: usize,
    pub(crate) len: usize,
    pub(crate) inner: usize,
}

impl Around {
    /// Splits a shape around `axis`; `None` stands for a tensor without dimensions, which has one element.
    pub(crate) fn new(dims: &[usize], axis: Option<usize>) -> Self {
        match axis {
            None => Self { outer: 1, len: 1, inner: 1 },
            Some(axis) => Self {
                outer: dims[..axis].iter().product(),
                len: dims[axis],
                inner: dims[axis + 1..].iter().product(),
            },
        }
    }

    /// Returns the position of the first element of each row along the dimension.
    pub(crate) fn rows(self) -> impl Iterator<Item = usize> {
        let Self { outer, len, inner } = self;
        (0..outer).flat_map(move |outer| (0..inner).map(move |inner_index| outer * len * inner + inner_index))
    }

    /// Returns the positions of a row's elements, given the position `start` of its first element.
    pub(crate) fn row(
        self,
        start: usize,
    ) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone {
        (0..self.len).map(move |n| start + n * self.inner)
    }
}
