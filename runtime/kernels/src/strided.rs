//! Copies and fills of memory in which neighbours of a tensor need not be neighbours.
//!
//! A layout is a shape with one stride for each dimension, in elements; a stride may be zero or negative.
//! Elements of a shape come in row-major order: the last dimension runs fastest.

use crate::error::{Error, Result};
use crate::walk::{Row, Walk};

/// A shape, and how far it is from each element to its neighbour along each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    len: usize,
    before: usize,
    after: usize,
}

impl<'a> Layout<'a> {
    /// A layout of a shape.
    ///
    /// # Errors
    /// [`Error::Rank`] unless there is one stride for each dimension, [`Error::Overflow`] if it reaches
    /// further than can be addressed.
    pub fn new(dims: &'a [usize], strides: &'a [isize]) -> Result<Self> {
        if dims.len() != strides.len() {
            return Err(Error::Rank { dims: dims.len(), strides: strides.len() });
        }
        let len = checked_len(dims)?;
        let [before, after] = if len == 0 { [0, 0] } else { checked_reach(dims, strides)? };
        Ok(Self { dims, strides, len, before, after })
    }

    /// Returns the number of elements that the shape has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the shape has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The reach of the layout before its first element: over as many elements.
    #[must_use]
    pub fn before(&self) -> usize {
        self.before
    }

    /// Returns the number of elements that the layout reaches over, gaps included. A memory of this layout
    /// has as many, the first element of the shape behind [`before`](Self::before) others.
    #[must_use]
    pub fn extent(&self) -> usize {
        if self.is_empty() { 0 } else { self.before + 1 + self.after }
    }

    /// Returns true if the elements lie one after the other in row-major order.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut wanted = 1;
        self.is_empty()
            || self.dims.iter().zip(self.strides).rev().all(|(&dim, &stride)| {
                let fits = dim == 1 || stride == wanted;
                wanted *= dim as isize;
                fits
            })
    }

    fn check<T>(&self, memory: &[T]) -> Result<()> {
        if self.extent() <= memory.len() {
            Ok(())
        } else {
            Err(Error::OutOfBounds { needed: self.extent(), available: memory.len() })
        }
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

/// Computes the reach of a layout before and after its first element.
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

/// The strides of a shape whose elements lie one after the other.
///
/// # Errors
/// [`Error::Overflow`] if the shape is larger than the address space.
pub fn contiguous_strides(dims: &[usize]) -> Result<Vec<isize>> {
    checked_len(dims)?;
    let mut strides = vec![1_isize; dims.len()];
    for index in (1..dims.len()).rev() {
        let dim = isize::try_from(dims[index].max(1)).map_err(|_| Error::Overflow)?;
        strides[index - 1] = strides[index].saturating_mul(dim);
    }
    Ok(strides)
}

/// Copies all elements, in row-major order of either shape, from one layout to another.
///
/// The shapes may differ as long as they have the same number of elements.
///
/// # Errors
/// [`Error::Length`] if they have not, [`Error::OutOfBounds`] if a layout reaches past its slice.
pub fn copy<T: Copy>(target: &mut [T], to: Layout<'_>, source: &[T], from: Layout<'_>) -> Result<()> {
    to.check(target)?;
    from.check(source)?;
    crate::expect_length("source", to.len(), from.len())?;
    if to.is_empty() {
        return Ok(());
    }
    if to.is_contiguous() && from.is_contiguous() {
        target[..to.len()].copy_from_slice(&source[..from.len()]);
    } else if to.dims == from.dims {
        walk([to, from]).rows(|starts, row| copy_row(target, source, starts, row));
    } else {
        let packed = gather(source, from);
        let mut done = 0;
        walk([to]).rows(|[at], row| {
            copy_row(target, &packed, [at, done], Row { len: row.len, strides: [row.strides[0], 1] });
            done += row.len;
        });
    }
    Ok(())
}

/// Sets all elements of a layout, and nothing in its gaps.
///
/// # Errors
/// [`Error::OutOfBounds`] if the layout reaches past the slice.
pub fn fill<T: Copy>(target: &mut [T], layout: Layout<'_>, value: T) -> Result<()> {
    layout.check(target)?;
    if layout.is_empty() {
        return Ok(());
    }
    if layout.is_contiguous() {
        target[..layout.len()].fill(value);
        return Ok(());
    }
    walk([layout]).rows(|[at], row| match row.strides {
        [1] => target[at..at + row.len].fill(value),
        _ => row.each([at], |[at]| target[at] = value),
    });
    Ok(())
}

/// A walk over layouts of one shape, in memories that begin with the first element in memory.
fn walk<const N: usize>(layouts: [Layout<'_>; N]) -> Walk<N> {
    Walk::new(layouts[0].dims, layouts.map(|layout| layout.strides), layouts.map(|layout| layout.before))
}

/// The elements of a layout, one after the other.
fn gather<T: Copy>(source: &[T], from: Layout<'_>) -> Vec<T> {
    let mut packed = Vec::with_capacity(from.len());
    walk([from]).rows(|[at], row| match row.strides {
        [1] => packed.extend_from_slice(&source[at..at + row.len]),
        _ => row.each([at], |[at]| packed.push(source[at])),
    });
    packed
}

fn copy_row<T: Copy>(target: &mut [T], source: &[T], starts: [usize; 2], row: Row<2>) {
    let [to, from] = starts;
    match row.strides {
        [1, 1] => target[to..to + row.len].copy_from_slice(&source[from..from + row.len]),
        [1, 0] => target[to..to + row.len].fill(source[from]),
        _ => row.each(starts, |[to, from]| target[to] = source[from]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The element at a row-major position, the slow and obvious way.
    fn offset(layout: Layout<'_>, mut position: usize) -> usize {
        let mut offset = layout.before() as isize;
        for (&dim, &stride) in layout.dims.iter().zip(layout.strides).rev() {
            offset += (position % dim) as isize * stride;
            position /= dim;
        }
        offset.try_into().unwrap()
    }

    fn check_copy(to_dims: &[usize], to: &[isize], from_dims: &[usize], from: &[isize]) {
        let to = Layout::new(to_dims, to).unwrap();
        let from = Layout::new(from_dims, from).unwrap();
        let source: Vec<u32> = (0..from.extent() as u32).collect();
        let mut wanted = vec![u32::MAX; to.extent()];
        for position in 0..to.len() {
            wanted[offset(to, position)] = source[offset(from, position)];
        }
        let mut target = vec![u32::MAX; to.extent()];
        copy(&mut target, to, &source, from).unwrap();
        assert_eq!(target, wanted, "{to:?} from {from:?}");
    }

    #[test]
    fn copies_between_layouts() {
        check_copy(&[3, 4], &[4, 1], &[3, 4], &[4, 1]);
        check_copy(&[3, 4], &[4, 1], &[3, 4], &[1, 3]);
        check_copy(&[3, 4], &[1, 3], &[3, 4], &[4, 1]);
        check_copy(&[2, 3, 4], &[24, 8, 2], &[2, 3, 4], &[1, 2, 6]);
        check_copy(&[2, 3, 4], &[12, 4, 1], &[2, 3, 4], &[40, 10, 1]);
        check_copy(&[5], &[3], &[5], &[0]);
        check_copy(&[5], &[0], &[5], &[2]);
        check_copy(&[2, 1, 3], &[3, 99, 1], &[2, 1, 3], &[0, 7, 2]);
        check_copy(&[], &[], &[], &[]);
        check_copy(&[1, 1], &[5, 9], &[1, 1], &[0, 0]);
        check_copy(&[0, 3], &[3, 1], &[0, 3], &[7, 2]);
    }

    #[test]
    fn strides_may_run_backwards() {
        check_copy(&[4], &[1], &[4], &[-1]);
        check_copy(&[4], &[-2], &[4], &[-1]);
        check_copy(&[4, 3], &[3, 1], &[4, 3], &[-3, 1]);
        check_copy(&[4, 3], &[-3, -1], &[4, 3], &[6, -2]);
        check_copy(&[2, 3, 4], &[12, -4, 1], &[4, 6], &[-6, -1]);
        let layout = Layout::new(&[3, 2], &[-4, 1]).unwrap();
        assert_eq!((layout.before(), layout.extent()), (8, 10));
    }

    #[test]
    fn shapes_may_differ_if_they_hold_as_much() {
        check_copy(&[6], &[2], &[2, 3], &[1, 2]);
        check_copy(&[2, 6], &[1, 2], &[3, 4], &[1, 3]);
        check_copy(&[2, 3], &[3, 1], &[3, 2], &[0, 1]);
        let (to, from) = (Layout::new(&[4], &[1]).unwrap(), Layout::new(&[5], &[1]).unwrap());
        let refused = copy(&mut [0; 4], to, &[1; 5], from);
        assert_eq!(refused, Err(Error::Length { what: "source", expected: 4, actual: 5 }));
    }

    #[test]
    fn fills_leave_the_gaps_alone() {
        for (dims, strides) in
            [(&[2, 3][..], &[6, 2][..]), (&[2, 3], &[3, 1]), (&[2, 2], &[-1, 4]), (&[], &[]), (&[3], &[0])]
        {
            let layout = Layout::new(dims, strides).unwrap();
            let mut wanted = vec![0_u8; layout.extent() + 2];
            (0..layout.len()).for_each(|position| wanted[offset(layout, position)] = 7);
            let mut target = vec![0; wanted.len()];
            fill(&mut target, layout, 7).unwrap();
            assert_eq!(target, wanted, "{layout:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Layout::new(&[2, 3], &[1]).unwrap_err(), Error::Rank { dims: 2, strides: 1 });
        assert_eq!(Layout::new(&[usize::MAX, 2], &[1, 1]).unwrap_err(), Error::Overflow);
        assert_eq!(Layout::new(&[3], &[isize::MIN]).unwrap_err(), Error::Overflow);
        assert_eq!(Layout::new(&[usize::MAX, 0, 2], &[1, 1, 1]).unwrap().len(), 0);
        let layout = Layout::new(&[2, 3], &[4, 1]).unwrap();
        assert_eq!(fill(&mut [0; 6], layout, 1), Err(Error::OutOfBounds { needed: 7, available: 6 }));
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
