//! Maxima and minima, and their indices.

use super::along::{Along, resolve, rows_last, spread};
use super::fold::float;
use crate::attributes::{ArgmaxAttributes, ExtremumGradAttributes};
use crate::elements::accumulate::{with_float, with_number};
use crate::elements::dtype::{DType, Element};
use crate::error::{Error, Result, expect_shape};
use crate::formulas::reduction::Sum;
use crate::loops::lines::in_pairs;
use crate::loops::simd::wide;
use crate::loops::slices::{Slot, store_integers};
use crate::loops::tiles::update;
use crate::numeric::Numeric;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// Computes the gradient of maxima and minima with respect to `x`: `dout` goes to the elements that are equal to the
/// output.
///
/// With `evenly` they share `dout`, as for Paddle's `amax` and `amin`, and for `max` and `min` since Paddle 3.1.
/// Without it, each receives the whole `dout`.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], and [`Error::Type`] unless the tensors are floating-point.
pub fn extremum_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    with: &ExtremumGradAttributes<'_>,
) -> Result<()> {
    let ExtremumGradAttributes { axis, keep_dim, reduce_all, evenly } = *with;
    let along = Along::named(axis, keep_dim, reduce_all);
    let ([spread_out, dout], _) = spread(x.dims(), [out, dout], along)?;
    let mut equal = Buffer::new(DType::F64, x.dims())?;
    update::<f64, 1, 2>([Some(equal.view_mut()?)], [Some(x), Some(&spread_out)], |[x, out]| {
        [if x == out { 1.0 } else { 0.0 }]
    })?;
    let mut counts = Buffer::new(DType::F64, out.dims())?;
    float(Sum, &mut counts.view_mut()?, &equal.view()?, along)?;
    let ([counts], _) = spread(x.dims(), [&counts.view()?], along)?;
    let equal = equal.view()?;
    with_float!(dx.dtype(), T => {
        update::<T, 1, 3>([Some(dx.reborrow())], [Some(&equal), Some(&counts), Some(&dout)], |[equal, count, dout]| {
            [if equal == 0.0 { 0.0 } else if evenly { dout / count } else { dout }]
        })
    })
}

/// Finds the index of the first of the largest elements along a dimension, or in row-major order with `flatten`.
///
/// As in Paddle, NaN is never the largest; NumPy returns the first NaN. It fails if there are no elements.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if the input is complex, [`Error::Empty`].
pub fn argmax(out: &mut ViewMut<'_>, x: &View<'_>, with: &ArgmaxAttributes) -> Result<()> {
    let ArgmaxAttributes { axis, keep_dim, flatten } = *with;
    with_number!(x.dtype(), T => {
        let found = first::<T>(out.dims(), x, axis, keep_dim, flatten, #[inline(always)] |new: T, best: T| new > best || prefers_numbers(new, best))?;
        store_integers(out, &found.0)
    })
}

/// Finds the index of the first of the smallest elements, as [`argmax`] does.
///
/// # Errors
/// As [`argmax`].
pub fn argmin(out: &mut ViewMut<'_>, x: &View<'_>, with: &ArgmaxAttributes) -> Result<()> {
    let ArgmaxAttributes { axis, keep_dim, flatten } = *with;
    with_number!(x.dtype(), T => {
        let found = first::<T>(out.dims(), x, axis, keep_dim, flatten, #[inline(always)] |new: T, best: T| new < best || prefers_numbers(new, best))?;
        store_integers(out, &found.0)
    })
}

/// Finds the first of the largest elements along a dimension, or of all elements with `flatten`, and its
/// index. NaN is the largest.
///
/// # Errors
/// As [`argmax`].
pub fn max_with_indices(
    out: Option<&mut ViewMut<'_>>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &ArgmaxAttributes,
) -> Result<()> {
    let ArgmaxAttributes { axis, keep_dim, flatten } = *with;
    with_number!(x.dtype(), T => {
        let found = first::<T>(indices.dims(), x, axis, keep_dim, flatten, #[inline(always)] |new: T, best: T| new > best || prefers_numbers(best, new))?;
        store(out, indices, &found)
    })
}

/// Finds the first of the smallest elements and its index, as [`max_with_indices`] does. NaN is the smallest.
///
/// # Errors
/// As [`argmax`].
pub fn min_with_indices(
    out: Option<&mut ViewMut<'_>>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &ArgmaxAttributes,
) -> Result<()> {
    let ArgmaxAttributes { axis, keep_dim, flatten } = *with;
    with_number!(x.dtype(), T => {
        let found = first::<T>(indices.dims(), x, axis, keep_dim, flatten, #[inline(always)] |new: T, best: T| new < best || prefers_numbers(best, new))?;
        store(out, indices, &found)
    })
}

/// Returns true if the first is a number and the second is not.
#[inline(always)]
fn prefers_numbers<T: Numeric>(first: T, second: T) -> bool {
    !first.is_nan() && second.is_nan()
}

fn store<T: Slot>(
    out: Option<&mut ViewMut<'_>>,
    indices: &mut ViewMut<'_>,
    (places, values): &(Vec<i64>, Vec<T>),
) -> Result<()> {
    if let Some(out) = out {
        expect_shape(indices.dims(), out.dims())?;
        T::store(out, values)?;
    }
    store_integers(indices, places)
}

/// Finds, for each row, the index and the value of the first element that no other element is better than.
fn first<T: Slot + Numeric + Element>(
    out_dims: &[usize],
    x: &View<'_>,
    axis: i64,
    keep_dim: bool,
    flatten: bool,
    better: impl Fn(T, T) -> bool + Copy,
) -> Result<(Vec<i64>, Vec<T>)> {
    let axes = if flatten {
        resolve(out_dims, x.dims(), &[], keep_dim, true)?
    } else {
        resolve(out_dims, x.dims(), &[axis], keep_dim, false)?
    };
    let (rows, len) = rows_last(x, &axes)?;
    let count: usize = out_dims.iter().product();
    if len == 0 && count > 0 {
        return Err(Error::Empty);
    }
    let loaded;
    let values = match rows.slice::<T>() {
        Some(values) => values,
        None => {
            loaded = T::load(&rows)?;
            &loaded
        }
    };
    let mut found = (Vec::with_capacity(count), Vec::with_capacity(count));
    wide(
        #[inline(always)]
        || {
            for n in 0..count {
                let row = &values[n * len..][..len];
                let place = first_in_row(row, better);
                found.0.push(place as i64);
                found.1.push(row[place]);
            }
        },
    );
    Ok(found)
}

/// The number of elements that are compared in parallel, so that the compiler vectorises the loops.
const LANES: usize = 64;

/// Returns the position of the first element of a row that no other element is better than.
#[inline(always)]
fn first_in_row<T: Numeric>(row: &[T], better: impl Fn(T, T) -> bool) -> usize {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [row[0]; LANES];
    for chunk in chunks {
        for n in 0..LANES {
            lanes[n] = if better(chunk[n], lanes[n]) { chunk[n] } else { lanes[n] };
        }
    }
    let mut best = row[0];
    if !chunks.is_empty() {
        best = in_pairs(
            lanes,
            #[inline(always)]
            |best, new| if better(new, best) { new } else { best },
        );
    }
    for &value in rest {
        best = if better(value, best) { value } else { best };
    }
    // The first of equally good elements.
    for (number, chunk) in chunks.iter().enumerate() {
        let mut is_here = false;
        for &value in chunk {
            is_here |= !better(best, value);
        }
        if is_here {
            return number * LANES + chunk.iter().position(|&value| !better(best, value)).unwrap_or(0);
        }
    }
    row.len() - rest.len() + rest.iter().position(|&value| !better(best, value)).unwrap_or(0)
}
