//! The largest and smallest elements, and where they are.

use super::{resolve, rows_last, spread};
use crate::accumulate::{with_float, with_number};
use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::{Error, Result, expect_shape};
use crate::numeric::Numeric;
use crate::reduce;
use crate::slices::{Slot, store_integers};
use crate::tensor::{View, ViewMut};
use crate::tiles::update;

macro_rules! extrema {
    ($($(#[$doc:meta])* $name:ident = $reduce:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::Shape`], [`Error::Type`], and [`Error::Empty`] if an element of the output has no
        /// elements of the input.
        pub fn $name(
            out: &mut ViewMut<'_>,
            x: &View<'_>,
            axis: &[i64],
            keep_dim: bool,
            reduce_all: bool,
        ) -> Result<()> {
            let axes = resolve(out.dims(), x.dims(), axis, keep_dim, reduce_all)?;
            $reduce(out, x, &axes)
        }
    )*};
}
extrema! {
    /// Finds the largest element: NaN if one is NaN.
    max = reduce::max;
    /// Finds the smallest element: NaN if one is NaN.
    min = reduce::min;
    /// As [`max`]; the two differ in their gradients.
    amax = reduce::max;
    /// As [`min`]; the two differ in their gradients.
    amin = reduce::min;
}

/// Gradient of [`max`], [`min`], [`amax`] and [`amin`] by `x`: for elements that are equal to the output.
///
/// With `evenly` they share `dout`: so it is for `amax` and `amin`, and for `max` and `min` since Paddle 3.1. Without it each
/// has all of it.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], and [`Error::Type`] unless the tensors are of floats.
pub fn extremum_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
    evenly: bool,
) -> Result<()> {
    let axes = resolve(dout.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    expect_shape(dout.dims(), out.dims())?;
    let wide = spread(out, x.dims(), &axes)?;
    let mut equal = Buffer::new(DType::F64, x.dims())?;
    update::<f64, 1, 2>([Some(equal.view_mut()?)], [Some(x), Some(&wide)], |[x, out]| {
        [if x == out { 1.0 } else { 0.0 }]
    })?;
    let mut counts = Buffer::new(DType::F64, out.dims())?;
    reduce::sum(&mut counts.view_mut()?, &equal.view()?, &axes)?;
    let counts = counts.view()?;
    let (dout, counts) = (spread(dout, x.dims(), &axes)?, spread(&counts, x.dims(), &axes)?);
    let equal = equal.view()?;
    with_float!(dx.dtype(), T => {
        update::<T, 1, 3>([Some(dx.reborrow())], [Some(&equal), Some(&counts), Some(&dout)], |[equal, count, dout]| {
            [if equal == 0.0 { 0.0 } else if evenly { dout / count } else { dout }]
        })
    })
}

/// Finds the index of the first of the largest elements along a dimension, or in row-major order with `flatten`.
///
/// As in Paddle, NaN is never the largest; NumPy finds the first NaN. Without elements to choose from there is none.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if the input is complex, [`Error::Empty`].
pub fn argmax(out: &mut ViewMut<'_>, x: &View<'_>, axis: i64, keep_dim: bool, flatten: bool) -> Result<()> {
    with_number!(x.dtype(), T => first::<T>(out, x, axis, keep_dim, flatten, |new, best| new > best))
}

/// Finds the index of the first of the smallest elements, as [`argmax`] does.
///
/// # Errors
/// As [`argmax`].
pub fn argmin(out: &mut ViewMut<'_>, x: &View<'_>, axis: i64, keep_dim: bool, flatten: bool) -> Result<()> {
    with_number!(x.dtype(), T => first::<T>(out, x, axis, keep_dim, flatten, |new, best| new < best))
}

fn first<T: Slot + Numeric>(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: i64,
    keep_dim: bool,
    flatten: bool,
    better: impl Fn(T, T) -> bool,
) -> Result<()> {
    let axes = match flatten {
        true => resolve(out.dims(), x.dims(), &[], keep_dim, true)?,
        false => resolve(out.dims(), x.dims(), &[axis], keep_dim, false)?,
    };
    let (rows, len) = rows_last(x, &axes)?;
    if len == 0 && !out.is_empty() {
        return Err(Error::Empty);
    }
    let values = T::load(&rows)?;
    let indices = (0..out.len()).map(|n| {
        let row = &values[n * len..][..len];
        let mut best = 0;
        for (index, &value) in row.iter().enumerate() {
            if better(value, row[best]) || (row[best].is_nan() && !value.is_nan()) {
                best = index;
            }
        }
        best as i64
    });
    let indices: Vec<i64> = indices.collect();
    store_integers(out, &indices)
}
