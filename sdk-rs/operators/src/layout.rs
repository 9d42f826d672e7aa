//! The layout of a tensor in memory.

use tenon::device::{Error, Result};

/// The shape of a tensor, and the distance between neighbours along each dimension, in elements.
///
/// ```
/// use tenon_operators::Layout;
///
/// let rows_in_reverse = Layout::new(&[2, 3], &[-3, 1])?;
/// assert_eq!((rows_in_reverse.len(), rows_in_reverse.before(), rows_in_reverse.extent()), (6, 3, 6));
/// assert!(!rows_in_reverse.is_contiguous());
/// # Ok::<(), tenon::device::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    len: usize,
    before: usize,
    after: usize,
}

impl<'a> Layout<'a> {
    /// Describes a layout. Strides may be zero or negative.
    ///
    /// # Errors
    /// If the numbers of dimensions and strides differ, or the layout is larger than the address space.
    pub fn new(dims: &'a [usize], strides: &'a [isize]) -> Result<Self> {
        if dims.len() != strides.len() {
            let message = format!("a tensor of {} dimensions has {} strides", dims.len(), strides.len());
            return Err(Error::invalid(message));
        }
        let len = checked_len(dims).ok_or_else(too_large)?;
        let [before, after] = match len {
            0 => [0, 0],
            _ => checked_reach(dims, strides).ok_or_else(too_large)?,
        };
        Ok(Self { dims, strides, len, before, after })
    }

    /// Returns the length of each dimension.
    #[must_use]
    pub fn dims(&self) -> &'a [usize] {
        self.dims
    }

    /// Returns the distance between neighbours along each dimension, in elements.
    #[must_use]
    pub fn strides(&self) -> &'a [isize] {
        self.strides
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the distance between the element with the lowest address and the first element, in elements.
    #[must_use]
    pub fn before(&self) -> usize {
        self.before
    }

    /// Returns the number of elements from the lowest to the highest address, gaps included.
    #[must_use]
    pub fn extent(&self) -> usize {
        if self.is_empty() { 0 } else { self.before + 1 + self.after }
    }

    /// Returns true if the elements are one after the other in row-major order.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.is_empty()
            || self.dims.iter().zip(self.strides).rev().all(|(&dim, &stride)| {
                let fits = dim == 1 || stride == expected;
                expected *= dim as isize;
                fits
            })
    }
}

/// Returns the strides of a shape whose elements are one after the other in row-major order.
///
/// # Errors
/// If the shape is larger than the address space.
pub fn contiguous_strides(dims: &[usize]) -> Result<Vec<isize>> {
    row_major(dims)
}

/// Computes the strides as [`contiguous_strides`] does, in any list.
pub(crate) fn row_major<L: FromIterator<isize> + AsMut<[isize]>>(dims: &[usize]) -> Result<L> {
    checked_len(dims).ok_or_else(too_large)?;
    let mut list: L = dims.iter().map(|_| 1).collect();
    let strides = list.as_mut();
    for index in (1..dims.len()).rev() {
        let dim = isize::try_from(dims[index].max(1)).map_err(|_| too_large())?;
        strides[index - 1] = strides[index].saturating_mul(dim);
    }
    Ok(list)
}

/// Returns the common shape of two operands, as NumPy broadcasts them.
///
/// # Errors
/// If two lengths of a dimension differ and neither is 1.
pub fn broadcast(dims: &[usize], other: &[usize]) -> Result<Vec<usize>> {
    let rank = dims.len().max(other.len());
    let at =
        |dims: &[usize], index: usize| (index + dims.len()).checked_sub(rank).map_or(1, |index| dims[index]);
    (0..rank)
        .map(|index| match (at(dims, index), at(other, index)) {
            (left, 1) => Ok(left),
            (1, right) => Ok(right),
            (left, right) if left == right => Ok(left),
            _ => {
                Err(Error::invalid(format!("the shapes {dims:?} and {other:?} cannot be broadcast together")))
            }
        })
        .collect()
}

fn too_large() -> Error {
    Error::invalid("a tensor is larger than the address space")
}

fn checked_len(dims: &[usize]) -> Option<usize> {
    // A zero makes the whole shape empty, however large the other dimensions are.
    if dims.contains(&0) {
        return Some(0);
    }
    let len = dims.iter().try_fold(1_usize, |len, &dim| len.checked_mul(dim))?;
    isize::try_from(len).is_ok().then_some(len)
}

/// Returns how many elements a layout reaches over before and after its first element.
fn checked_reach(dims: &[usize], strides: &[isize]) -> Option<[usize; 2]> {
    let mut reach = [0_usize; 2];
    for (&dim, &stride) in dims.iter().zip(strides) {
        let way = &mut reach[usize::from(stride > 0)];
        *way = (dim - 1).checked_mul(stride.unsigned_abs())?.checked_add(*way)?;
        if *way >= isize::MAX as usize / 2 {
            return None;
        }
    }
    Some(reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_row_major_layouts_are_contiguous() {
        for (dims, strides, expected) in [
            (&[2, 3][..], &[3, 1][..], true),
            (&[2, 1, 3], &[3, 50, 1], true),
            (&[], &[], true),
            (&[0, 3], &[9, 9], true),
            (&[2, 3], &[1, 2], false),
            (&[2, 3], &[4, 1], false),
            (&[3], &[-1], false),
            (&[3], &[0], false),
        ] {
            assert_eq!(Layout::new(dims, strides).unwrap().is_contiguous(), expected, "{dims:?} {strides:?}");
        }
    }

    #[test]
    fn extent_counts_gaps_and_negative_strides() {
        for (dims, strides, before, extent) in [
            (&[3, 2][..], &[-4, 1][..], 8, 10),
            (&[2, 3], &[6, 2], 0, 11),
            (&[5], &[0], 0, 1),
            (&[0, 3], &[7, 2], 0, 0),
            (&[], &[], 0, 1),
        ] {
            let layout = Layout::new(dims, strides).unwrap();
            assert_eq!((layout.before(), layout.extent()), (before, extent), "{dims:?} {strides:?}");
        }
    }

    #[test]
    fn layouts_beyond_the_address_space_are_refused() {
        assert!(Layout::new(&[2, 3], &[1]).unwrap_err().message.contains("2 dimensions has 1 strides"));
        assert!(Layout::new(&[usize::MAX, 2], &[1, 1]).is_err());
        assert!(Layout::new(&[3], &[isize::MIN]).is_err());
        assert_eq!(Layout::new(&[usize::MAX, 0, 2], &[1, 1, 1]).unwrap().len(), 0);
        assert!(contiguous_strides(&[usize::MAX, 2]).is_err());
    }

    #[test]
    fn contiguous_strides_are_products_of_later_dimensions() {
        assert_eq!(contiguous_strides(&[2, 3, 4]).unwrap(), [12, 4, 1]);
        assert_eq!(contiguous_strides(&[]).unwrap(), Vec::<isize>::new());
    }
}
