//! Unique elements or rows.

use std::cmp::Ordering;

use super::compare;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::slices::{Slot, store_integers};
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

/// Rows of a tensor, grouped by equality.
struct Groups {
    /// For each group, the indices of its rows in order.
    members: Vec<Vec<usize>>,
    /// The number of rows.
    rows: usize,
    /// The dimension, and the shape of each row.
    axis: Option<usize>,
    dims: Vec<usize>,
}

/// Orders the dimensions so that `axis` comes first.
fn first(rank: usize, axis: usize) -> Vec<usize> {
    std::iter::once(axis).chain((0..rank).filter(|&other| other != axis)).collect()
}

impl Groups {
    /// Groups the indices along a dimension, or the elements if no dimension is given: all equal ones in
    /// sorted order, or only adjacent ones. NaN equals itself only with `equal_nan`.
    fn new(x: &View<'_>, axis: &[i64], sorted: bool, equal_nan: bool) -> Result<Self> {
        fn run<T: Compute + Slot>(
            x: &View<'_>,
            rows: usize,
            sorted: bool,
            equal_nan: bool,
        ) -> Result<Vec<Vec<usize>>> {
            let values = T::load(x)?;
            let width = values.len().checked_div(rows).unwrap_or(0);
            let row = |n: usize| &values[n * width..][..width];
            let order = |a: usize, b: usize| {
                let pairs = row(a).iter().zip(row(b));
                pairs.map(|(&a, &b)| compare(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            };
            let mut indices: Vec<usize> = (0..rows).collect();
            if sorted {
                indices.sort_by(|&a, &b| order(a, b));
            }
            let is_itself = |a: usize| equal_nan || !row(a).iter().any(|value| value.is_nan());
            let equal = |&a: &usize, &b: &usize| order(a, b).is_eq() && is_itself(a);
            Ok(indices.chunk_by(equal).map(<[usize]>::to_vec).collect())
        }
        let (axis, view, rows) = match *axis {
            [] => (None, x.clone(), x.len()),
            [number] => {
                let axis = axis::axis(number, x.dims().len())?;
                (Some(axis), x.clone().permute(&first(x.dims().len(), axis))?, x.dims()[axis])
            }
            _ => return Err(Error::Attribute { name: "axis", value: format!("{axis:?}") }),
        };
        let members = with_number!(x.dtype(), T => run::<T>(&view, rows, sorted, equal_nan))?;
        let dims = axis.map_or(vec![], |_| view.dims()[1..].to_vec());
        Ok(Self { members, rows, axis, dims })
    }

    /// Writes one row of each group, and the requested indices and counts.
    fn write(
        &self,
        out: &mut ViewMut<'_>,
        indices: Option<&mut ViewMut<'_>>,
        inverse: Option<&mut ViewMut<'_>>,
        counts: Option<&mut ViewMut<'_>>,
        x: &View<'_>,
    ) -> Result<()> {
        let mut expected = self.dims.clone();
        expected.insert(self.axis.unwrap_or(0), self.members.len());
        expect_shape(&expected, out.dims())?;
        let of_groups = |view: ViewMut<'_>, value: &dyn Fn(&Vec<usize>) -> usize| {
            let mut view = view;
            expect_shape(&[self.members.len()], view.dims())?;
            let values: Vec<i64> = self.members.iter().map(|group| value(group) as i64).collect();
            store_integers(&mut view, &values)
        };
        let firsts: Vec<i64> = self.members.iter().map(|group| group[0] as i64).collect();
        // Before outputs are written that may share memory with the input.
        match self.axis {
            Some(axis) => {
                let index = View::of_slice(&firsts, &[firsts.len()])?;
                crate::indexing::gather(out, x, &index, axis as i64)?;
            }
            None => crate::loops::movement::with_word!(x.dtype(), W => {
                let words = crate::loops::movement::words::<W>(x)?;
                let chosen: Vec<W> = firsts.iter().map(|&place| words[place as usize]).collect();
                if out.dtype() != x.dtype() {
                    return Err(Error::Type { dtype: x.dtype() });
                }
                crate::loops::movement::store_words(out, &chosen)?;
            }),
        }
        if let Some(indices) = indices {
            of_groups(indices.reborrow(), &|group| group[0])?;
        }
        if let Some(counts) = counts {
            of_groups(counts.reborrow(), &Vec::len)?;
        }
        if let Some(inverse) = inverse {
            expect_shape(&[self.rows], inverse.dims())?;
            let mut groups = vec![0; self.rows];
            for (group, members) in self.members.iter().enumerate() {
                members.iter().for_each(|&row| groups[row] = group as i64);
            }
            store_integers(inverse, &groups)?;
        }
        Ok(())
    }
}

/// Computes the shape of the first output of [`unique`].
///
/// # Errors
/// [`Error::Axis`], [`Error::Attribute`] for several dimensions, [`Error::Type`] if elements are complex.
pub fn unique_shape(x: &View<'_>, axis: &[i64], equal_nan: bool) -> Result<Vec<usize>> {
    let groups = Groups::new(x, axis, true, equal_nan)?;
    let mut dims = groups.dims;
    dims.insert(groups.axis.unwrap_or(0), groups.members.len());
    Ok(dims)
}

/// Writes the unique elements in sorted order. If a dimension is given, writes the unique slices along it in
/// lexicographic order.
///
/// `indices` holds the index of the first occurrence of each, `inverse` the position in the output of each
/// element of the input in row-major order, and `counts` the number of occurrences. With `equal_nan` all NaN
/// are equal; otherwise each NaN is unique.
///
/// # Errors
/// As [`unique_shape`], and [`Error::Shape`] unless the output has the number of unique elements.
pub fn unique(
    out: &mut ViewMut<'_>,
    indices: Option<&mut ViewMut<'_>>,
    inverse: Option<&mut ViewMut<'_>>,
    counts: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    axis: &[i64],
    equal_nan: bool,
) -> Result<()> {
    Groups::new(x, axis, true, equal_nan)?.write(out, indices, inverse, counts, x)
}

/// Returns the number of elements, or of indices along a dimension, that [`unique_consecutive`] finds.
///
/// # Errors
/// As [`unique_shape`].
pub fn unique_consecutive_count(x: &View<'_>, axis: &[i64]) -> Result<usize> {
    Ok(Groups::new(x, axis, false, true)?.members.len())
}

/// Removes adjacent duplicates. The outputs are as for [`unique`], but the order is kept.
///
/// # Errors
/// As [`unique`].
pub fn unique_consecutive(
    out: &mut ViewMut<'_>,
    inverse: Option<&mut ViewMut<'_>>,
    counts: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    axis: &[i64],
) -> Result<()> {
    Groups::new(x, axis, false, true)?.write(out, None, inverse, counts, x)
}
