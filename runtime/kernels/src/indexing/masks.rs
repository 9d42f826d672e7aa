//! Elements selected by boolean masks.

use super::places::broadcast;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement::{self, with_word};
use crate::loops::slices::{Slot, integers, store_integers};
use crate::numeric::Numeric;
use crate::reduction;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Returns for each element, in row-major order, whether it is nonzero.
fn truths(x: &View<'_>) -> Result<Vec<bool>> {
    if x.dtype().is_float() {
        Ok(f64::load(x)?.into_iter().map(Numeric::truth).collect())
    } else {
        Ok(integers(x)?.into_iter().map(|value| value != 0).collect())
    }
}

/// Returns the indices of the nonzero elements, one list for each dimension.
pub(super) fn columns(x: &View<'_>) -> Result<Vec<Vec<i64>>> {
    let mut columns = vec![vec![]; x.dims().len()];
    for (mut place, _) in truths(x)?.into_iter().enumerate().filter(|&(_, truth)| truth) {
        for (column, dim) in columns.iter_mut().zip(x.dims()).rev() {
            column.push((place % dim) as i64);
            place /= dim;
        }
    }
    Ok(columns)
}

/// Returns the number of nonzero elements, NaN included: the number of rows of [`nonzero`].
///
/// # Errors
/// [`Error::Type`] if elements are complex.
pub fn nonzero_count(x: &View<'_>) -> Result<usize> {
    Ok(truths(x)?.into_iter().filter(|&truth| truth).count())
}

/// Computes the shape of the result of [`nonzero`].
///
/// # Errors
/// As [`nonzero_count`].
pub fn nonzero_shape(x: &View<'_>) -> Result<Vec<usize>> {
    Ok(vec![nonzero_count(x)?, x.dims().len()])
}

/// Writes the indices of the nonzero elements: one row for each element, with one column for each dimension.
///
/// # Errors
/// [`Error::Shape`] unless the output has [`nonzero_count`] rows and as many columns as the input has dimensions;
/// [`Error::Type`].
pub fn nonzero(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let rank = x.dims().len();
    expect_shape(&[nonzero_count(x)?, rank], out.dims())?;
    let columns = columns(x)?;
    let rows = columns.first().map_or(0, Vec::len);
    let indices: Vec<i64> = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    store_integers(out, &indices)
}

/// Returns the common shape of a tensor and a mask, and the positions in it where the mask is true.
fn chosen(x: &[usize], mask: &View<'_>) -> Result<(Vec<usize>, Vec<usize>)> {
    let dims = broadcast(x, mask.dims())?;
    let truths = truths(&mask.clone().expand(&dims)?)?;
    let places = truths.into_iter().enumerate().filter_map(|(place, truth)| truth.then_some(place));
    let places = places.collect();
    Ok((dims, places))
}

/// Returns the number of elements that [`masked_select`] selects.
///
/// # Errors
/// [`Error::Broadcast`], [`Error::Type`].
pub fn masked_select_count(x: &View<'_>, mask: &View<'_>) -> Result<usize> {
    Ok(chosen(x.dims(), mask)?.1.len())
}

/// Computes the shape of the result of [`masked_select`].
///
/// # Errors
/// As [`masked_select_count`].
pub fn masked_select_shape(x: TensorMeta<'_>, mask: &View<'_>) -> Result<Vec<usize>> {
    Ok(vec![chosen(x.dims(), mask)?.1.len()])
}

/// Selects the elements where the mask is true, in row-major order, after broadcasting both to a common
/// shape.
///
/// # Errors
/// As [`masked_select_count`], and [`Error::Shape`] unless the output has one dimension of that length.
pub fn masked_select(out: &mut ViewMut<'_>, x: &View<'_>, mask: &View<'_>) -> Result<()> {
    let (dims, places) = chosen(x.dims(), mask)?;
    expect_shape(&[places.len()], out.dims())?;
    if out.dtype() != x.dtype() {
        return Err(Error::Type { dtype: x.dtype() });
    }
    let x = x.clone().expand(&dims)?;
    with_word!(x.dtype(), W => {
        let words = movement::words::<W>(&x)?;
        let chosen: Vec<W> = places.into_iter().map(|place| words[place]).collect();
        movement::store_words(out, &chosen)
    })
}

/// Computes the gradient of [`masked_select`] with respect to `x`.
///
/// # Errors
/// As [`masked_select`].
pub fn masked_select_grad(dx: &mut ViewMut<'_>, mask: &View<'_>, dout: &View<'_>) -> Result<()> {
    let (dims, places) = chosen(dx.dims(), mask)?;
    expect_shape(&[places.len()], dout.dims())?;
    let values = f64::load(dout)?;
    let mut wide = vec![0.0; dims.iter().product()];
    places.into_iter().zip(values).for_each(|(place, value)| wide[place] = value);
    reduction::sum_to(dx, &View::of_slice(&wide, &dims)?)
}
