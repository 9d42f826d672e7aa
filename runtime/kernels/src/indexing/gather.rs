//! Elements selected by indices.

use super::along::{take_along_axis, take_along_axis_grad};
use super::places::Places;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, integers};
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

/// Locates the parts of `x` at indices along a dimension. A column of indices counts as a vector if `parts`
/// and `x` have the same rank.
fn chosen(x: &[usize], parts: &[usize], index: &View<'_>, axis: i64) -> Result<Places> {
    if parts.len() == x.len() { Places::listed(x, index, axis) } else { Places::along(x, index, axis) }
}

/// Gathers the parts of `x` at indices along a dimension: in the output, the index's dimensions replace that
/// dimension.
///
/// A column of indices counts as a vector if the output has as many dimensions as `x`.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Index`], [`Error::Type`] if types differ or indices are not integers.
pub fn gather(out: &mut ViewMut<'_>, x: &View<'_>, index: &View<'_>, axis: i64) -> Result<()> {
    chosen(x.dims(), out.dims(), index, axis)?.take(out, x)
}

/// Computes the gradient of [`gather`] with respect to `x`.
///
/// # Errors
/// As [`gather`], and [`Error::Type`] if a type is complex.
pub fn gather_grad(dx: &mut ViewMut<'_>, index: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    chosen(dx.dims(), dout.dims(), index, axis)?.add(dx, None, dout, false)
}

/// Gathers the parts of `x` as [`gather`] does, for an index of one dimension.
///
/// # Errors
/// As [`gather`].
pub fn index_select(out: &mut ViewMut<'_>, x: &View<'_>, index: &View<'_>, axis: i64) -> Result<()> {
    gather(out, x, index, axis)
}

/// Computes the gradient of [`index_select`] with respect to `x`.
///
/// # Errors
/// As [`gather_grad`].
pub fn index_select_grad(dx: &mut ViewMut<'_>, index: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    gather_grad(dx, index, dout, axis)
}

/// Gathers parts of `x`. The last dimension of `index` holds indices into the first dimensions of `x`.
///
/// # Errors
/// As [`gather`], and [`Error::Rank`] if there are more indices than dimensions.
pub fn gather_nd(out: &mut ViewMut<'_>, x: &View<'_>, index: &View<'_>) -> Result<()> {
    Places::nd(x.dims(), index)?.take(out, x)
}

/// Computes the gradient of [`gather_nd`] with respect to `x`.
///
/// # Errors
/// As [`gather_nd`], and [`Error::Type`] if a type is complex.
pub fn gather_nd_grad(dx: &mut ViewMut<'_>, index: &View<'_>, dout: &View<'_>) -> Result<()> {
    Places::nd(dx.dims(), index)?.add(dx, None, dout, false)
}

/// Rejects an index that does not have the rows of a matrix.
fn expect_rows(x: &[usize], index: &View<'_>) -> Result<()> {
    match (x, index.dims()) {
        (&[rows, _], &[count, _]) if rows == count => Ok(()),
        _ => Err(Error::Shape { expected: x.to_vec(), actual: index.dims().to_vec() }),
    }
}

/// Gathers elements of each row of a matrix, at the indices in the same row of `index`.
///
/// # Errors
/// As [`gather`].
pub fn index_sample(out: &mut ViewMut<'_>, x: &View<'_>, index: &View<'_>) -> Result<()> {
    expect_rows(x.dims(), index)?;
    take_along_axis(out, x, index, 1)
}

/// Computes the gradient of [`index_sample`] with respect to `x`.
///
/// # Errors
/// As [`gather_grad`].
pub fn index_sample_grad(dx: &mut ViewMut<'_>, index: &View<'_>, dout: &View<'_>) -> Result<()> {
    expect_rows(dx.dims(), index)?;
    take_along_axis_grad(dx, index, dout, 1)
}

/// Writes a one-hot vector for each index: one at the index and zeros elsewhere. Its length is the last
/// dimension of the output.
///
/// # Errors
/// [`Error::Shape`], [`Error::Index`] also for a negative index, [`Error::Type`].
pub fn one_hot(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let Some((&depth, dims)) = out.dims().split_last() else {
        return Err(Error::Rank { dims: 0, strides: 1 });
    };
    expect_shape(dims, x.dims())?;
    let places = integers(x)?.into_iter().map(|index| match index {
        0.. => axis::index(index, depth),
        _ => Err(Error::Index { index, len: depth }),
    });
    let places: Vec<usize> = places.collect::<Result<_>>()?;
    let mut values = vec![0.0_f32; out.len()];
    places.into_iter().enumerate().for_each(|(row, place)| values[row * depth + place] = 1.0);
    f32::store(out, &values)
}
