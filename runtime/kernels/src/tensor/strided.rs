//! Layouts: a shape with one stride for each dimension, in elements; a stride may be zero or negative.
//!
//! Elements of a shape are in row-major order: the last dimension varies fastest.

use crate::error::{Error, Result};

/// A shape and its strides: the distance between neighbours along each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    len: usize,
    before: usize,
    after: usize,
}

impl<'a> Layout<'a> {
    /// Creates a layout of a shape.
    ///
    /// # Errors
    /// [`Error::Rank`] unless there is one stride for each dimension, [`Error::Overflow`] if it extends
    /// beyond the address space.
    pub(crate) fn new(dims: &'a [usize], strides: &'a [isize]) -> Result<Self> {
        if dims.len() != strides.len() {
            return Err(Error::Rank { dims: dims.len(), strides: strides.len() });
        }
        let len = checked_len(dims)?;
        let [before, after] = if len == 0 { [0, 0] } else { checked_reach(dims, strides)? };
        Ok(Self { dims, strides, len, before, after })
    }

    /// Returns the number of elements that the shape has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the shape has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns how many elements the layout extends before its first element.
    pub(crate) fn before(&self) -> usize {
        self.before
    }

    /// Returns the number of elements that the layout spans, gaps included. Memory for this layout has that
    /// many elements, and the first element of the shape comes after [`before`](Self::before) others.
    pub(crate) fn extent(&self) -> usize {
        if self.is_empty() { 0 } else { self.before + 1 + self.after }
    }

    /// Returns true if the elements are contiguous in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut wanted = 1;
        self.is_empty()
            || self.dims.iter().zip(self.strides).rev().all(|(&dim, &stride)| {
                let fits = dim == 1 || stride == wanted;
                wanted *= dim as isize;
                fits
            })
    }
}

fn checked_len(dims: &[usize]) -> Result<usize> {
    // A zero makes the whole shape empty, however large the other dimensions are.
    if dims.contains(&0) {
        return Ok(0);
    }
    dims.iter()
        .try_fold(1_usize, |product, &dim| product.checked_mul(dim))
        .filter(|&len| isize::try_from(len).is_ok())
        .ok_or(Error::Overflow)
}

/// Computes how far a layout extends before and after its first element.
fn checked_reach(dims: &[usize], strides: &[isize]) -> Result<[usize; 2]> {
    let mut reach = [0_usize; 2];
    for (&dim, &stride) in dims.iter().zip(strides) {
        let way = &mut reach[usize::from(stride > 0)];
        *way = (dim - 1)
            .checked_mul(stride.unsigned_abs())
            .and_then(|steps| way.checked_add(steps))
            .filter(|&way| way < isize::MAX as usize / 2)
            .ok_or(Error::Overflow)?;
    }
    Ok(reach)
}

/// Computes the strides of a contiguous shape.
///
/// # Errors
/// [`Error::Overflow`] if the shape is larger than the address space.
pub(crate) fn contiguous_strides(dims: &[usize]) -> Result<Vec<isize>> {
    checked_len(dims)?;
    let mut strides = vec![1_isize; dims.len()];
    for index in (1..dims.len()).rev() {
        let dim = isize::try_from(dims[index].max(1)).map_err(|_| Error::Overflow)?;
        strides[index - 1] = strides[index].saturating_mul(dim);
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_beyond_the_address_space_are_refused() {
        assert_eq!(Layout::new(&[2, 3], &[1]).unwrap_err(), Error::Rank { dims: 2, strides: 1 });
        assert_eq!(Layout::new(&[usize::MAX, 2], &[1, 1]).unwrap_err(), Error::Overflow);
        assert_eq!(Layout::new(&[3], &[isize::MIN]).unwrap_err(), Error::Overflow);
        assert_eq!(Layout::new(&[usize::MAX, 0, 2], &[1, 1, 1]).unwrap().len(), 0);
    }

    #[test]
    fn extent_counts_gaps_and_negative_strides() {
        let layout = Layout::new(&[3, 2], &[-4, 1]).unwrap();
        assert_eq!((layout.before(), layout.extent()), (8, 10));
        assert_eq!(Layout::new(&[2, 3], &[6, 2]).unwrap().extent(), 11);
    }

    #[test]
    fn contiguity_ignores_dimensions_of_one() {
        for (dims, strides, wanted) in [
            (&[2, 3][..], &[3, 1][..], true),
            (&[2, 1, 3], &[3, 50, 1], true),
            (&[2, 3], &[1, 2], false),
            (&[0, 3], &[9, 9], true),
            (&[3], &[0], false),
        ] {
            assert_eq!(Layout::new(dims, strides).unwrap().is_contiguous(), wanted, "{dims:?} {strides:?}");
        }
        assert_eq!(contiguous_strides(&[2, 3, 4]).unwrap(), [12, 4, 1]);
        assert_eq!(contiguous_strides(&[]).unwrap(), Vec::<isize>::new());
    }
}
