//! Dimensions as frameworks number them: negative ones count from the end.

use crate::error::{Error, Result};

/// The dimension that a number means.
///
/// # Errors
/// [`Error::Axis`].
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let refused = || Error::Axis { axis: axis.unsigned_abs() as usize, rank };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(refused)
}

/// The dimension that a number means, where a tensor without dimensions counts as one of a single element: then
/// there is none.
///
/// # Errors
/// [`Error::Axis`].
pub(crate) fn axis_or_scalar(number: i64, rank: usize) -> Result<Option<usize>> {
    match rank {
        0 => axis(number, 1).map(|_| None),
        _ => axis(number, rank).map(Some),
    }
}

/// The dimensions that numbers mean, each once.
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

/// The index that a number means in a dimension.
///
/// # Errors
/// [`Error::Index`].
pub(crate) fn index(number: i64, len: usize) -> Result<usize> {
    let from_start = if number < 0 { number.checked_add(len as i64) } else { Some(number) };
    let from_start = from_start.and_then(|index| usize::try_from(index).ok());
    from_start.filter(|&index| index < len).ok_or(Error::Index { index: number, len })
}

/// A shape around one of its dimensions: how many elements are before, along and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) outer: usize,
    pub(crate) len: usize,
    pub(crate) inner: usize,
}

impl Around {
    /// A tensor without dimensions has one element along a dimension.
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

    /// The position of the first element of each row along the dimension.
    pub(crate) fn rows(self) -> impl Iterator<Item = usize> {
        let Self { outer, len, inner } = self;
        (0..outer).flat_map(move |outer| (0..inner).map(move |inner_index| outer * len * inner + inner_index))
    }

    /// The positions of a row's elements, from the position of the first.
    pub(crate) fn row(
        self,
        start: usize,
    ) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone {
        (0..self.len).map(move |n| start + n * self.inner)
    }
}
