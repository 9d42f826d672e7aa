//! Running sums, products and extrema along a dimension, and their gradients.
//!
//! The output has the shape of the input. Negative dimension numbers count from the end; a tensor without
//! dimensions counts as having a single element. `reverse` starts from the end. With `exclusive`, an element
//! is not part of its own result. With `flatten`, the elements form a single row in row-major order, and the
//! output has one dimension.

use crate::attributes::{CumprodAttributes, CumsumAttributes};
use crate::elements::accumulate::{with_float, with_number};
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::simd::wide;
use crate::loops::slices::{Slot, integers, store_integers, with_slices};
use crate::numeric::{Floating, Numeric};
use crate::tensor::axis::{Around, axis_or_scalar};
use crate::tensor::{View, ViewMut};

/// Returns the layout of the rows of a tensor.
fn rows(dims: &[usize], axis: i64, flatten: bool) -> Result<Around> {
    if flatten {
        Ok(Around { outer: 1, len: dims.iter().product(), inner: 1 })
    } else {
        Ok(Around::new(dims, axis_or_scalar(axis, dims.len())?))
    }
}

/// Checks the shape of an output, and returns the layout of the rows.
fn shape(out: &[usize], x: &[usize], axis: i64, flatten: bool) -> Result<Around> {
    let around = rows(x, axis, flatten)?;
    let expected = if flatten { vec![around.len] } else { x.to_vec() };
    if out == expected { Ok(around) } else { Err(Error::Shape { expected, actual: out.to_vec() }) }
}

/// Computes rows of the output from a running state that each element of the input updates.
fn scan<T: Compute + Slot>(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    around: Around,
    [exclusive, reverse]: [bool; 2],
    start: T,
    step: impl Fn(T, T) -> T,
) -> Result<()> {
    with_slices([out.reborrow()], [x], |[out], [x]| {
        let mut visit = |state: &mut T, at: usize| {
            let next = step(*state, x[at]);
            out[at] = if exclusive { *state } else { next };
            *state = next;
        };
        for first in around.rows() {
            let mut state = start;
            if reverse {
                around.row(first).rev().for_each(|at| visit(&mut state, at));
            } else {
                around.row(first).for_each(|at| visit(&mut state, at));
            }
        }
        Ok(())
    })
}

/// Computes running sums. Sums of integers wrap.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if a type is complex.
pub fn cumsum(out: &mut ViewMut<'_>, x: &View<'_>, with: &CumsumAttributes) -> Result<()> {
    let CumsumAttributes { axis, flatten, exclusive, reverse } = *with;
    let around = shape(out.dims(), x.dims(), axis, flatten)?;
    with_number!(x.dtype(), T => {
        scan::<T>(out, x, around, [exclusive, reverse], T::of(0.0), |sum, x| sum + x)
    })
}

/// Computes the gradient of [`cumsum`] with respect to `x`: running sums of `dout` in the opposite direction.
///
/// # Errors
/// As [`cumsum`].
pub fn cumsum_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &CumsumAttributes) -> Result<()> {
    let CumsumAttributes { axis, flatten, exclusive, reverse } = *with;
    let around = shape(dout.dims(), dx.dims(), axis, flatten)?;
    with_number!(dout.dtype(), T => {
        scan::<T>(dx, dout, around, [exclusive, !reverse], T::of(0.0), |sum, dout| sum + dout)
    })
}

/// Computes running products. Products of integers wrap.
///
/// # Errors
/// As [`cumsum`].
pub fn cumprod(out: &mut ViewMut<'_>, x: &View<'_>, with: &CumprodAttributes) -> Result<()> {
    let CumprodAttributes { axis, exclusive, reverse } = *with;
    let around = shape(out.dims(), x.dims(), axis, false)?;
    with_number!(x.dtype(), T => {
        scan::<T>(out, x, around, [exclusive, reverse], T::of(1.0), |product, x| product * x)
    })
}

/// Computes the gradient of [`cumprod`] with respect to `x`, without division, so that it is correct for
/// zeros too.
///
/// The derivative of a product with respect to element `j` is the product of the elements before `j`, times
/// the product of the elements between `j` and the end of the product.
///
/// # Errors
/// As [`cumsum`], and [`Error::Type`] unless the gradient is floating-point.
pub fn cumprod_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    with: &CumprodAttributes,
) -> Result<()> {
    let CumprodAttributes { axis, exclusive, reverse } = *with;
    let around = shape(dx.dims(), x.dims(), axis, false)?;
    expect_shape(x.dims(), dout.dims())?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 2>([dx.reborrow()], [x, dout], |[dx], [x, dout]| {
            for first in around.rows() {
                let mut row: Vec<usize> = around.row(first).collect();
                if reverse {
                    row.reverse();
                }
                let mut before = 1.0;
                for &at in &row {
                    dx[at] = before;
                    before *= x[at];
                }
                // The sum of the gradients of later elements, each times the product of the elements between.
                let mut behind = 0.0;
                for &at in row.iter().rev() {
                    let own = behind + if exclusive { 0.0 } else { dout[at] };
                    dx[at] *= own;
                    behind = own * x[at] + if exclusive { dout[at] } else { 0.0 };
                }
            }
            Ok(())
        })
    })
}

/// Computes the logarithm of the sum of the exponentials of two numbers.
fn log_add_exp<T: Floating>(a: T, b: T) -> T {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large.is_inf() || small.is_nan() {
        // Infinities are kept, and NaN propagates.
        return if small.is_nan() || large.is_nan() { small + large } else { large };
    }
    wide(
        #[inline(always)]
        || large + (small - large).exp().log1p(),
    )
}

/// Computes the logarithms of running sums of exponentials, without overflow. The result for no elements is
/// negative infinity.
///
/// # Errors
/// As [`cumsum`], and [`Error::Type`] unless the tensors are floating-point.
pub fn logcumsumexp(out: &mut ViewMut<'_>, x: &View<'_>, with: &CumsumAttributes) -> Result<()> {
    let CumsumAttributes { axis, flatten, exclusive, reverse } = *with;
    let around = shape(out.dims(), x.dims(), axis, flatten)?;
    with_float!(x.dtype(), T => {
        scan::<T>(out, x, around, [exclusive, reverse], T::NEG_INFINITY, log_add_exp)
    })
}

/// Computes the gradient of [`logcumsumexp`] with respect to `x`: the sum of `dout * exp(x - out)` over the
/// outputs that an element contributes to.
///
/// # Errors
/// As [`logcumsumexp`].
pub fn logcumsumexp_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    with: &CumsumAttributes,
) -> Result<()> {
    let CumsumAttributes { axis, flatten, exclusive, reverse } = *with;
    let around = shape(out.dims(), x.dims(), axis, flatten)?;
    expect_shape(out.dims(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 3>([dx.reborrow()], [x, out, dout], |[dx], [x, out, dout]| {
            let ratio = |above: T, below: T| if above == T::NEG_INFINITY { 0.0 } else { (above - below).exp() };
            for first in around.rows() {
                let mut row: Vec<usize> = around.row(first).collect();
                if reverse {
                    row.reverse();
                }
                // The sum of the gradients of later elements, each times the exponential of `last` minus its
                // output.
                let (mut sum, mut last) = (0.0, T::INFINITY);
                for &at in row.iter().rev() {
                    if exclusive {
                        dx[at] = if sum == 0.0 { 0.0 } else { ratio(x[at], last) * sum };
                        sum = dout[at] + if sum == 0.0 { 0.0 } else { ratio(out[at], last) * sum };
                    } else {
                        sum = dout[at] + if sum == 0.0 { 0.0 } else { ratio(out[at], last) * sum };
                        dx[at] = ratio(x[at], out[at]) * sum;
                    }
                    last = out[at];
                }
            }
            Ok(())
        })
    })
}

/// Computes the running maximum and its index. Of equal elements the last one counts. NaN counts as the
/// largest, so it propagates.
///
/// # Errors
/// As [`cumsum`].
pub fn cummax(out: &mut ViewMut<'_>, indices: &mut ViewMut<'_>, x: &View<'_>, axis: i64) -> Result<()> {
    with_number!(x.dtype(), T => extremum::<T>(out, indices, x, axis, |new, best| new >= best))
}

/// Computes the running minimum and its index. Of equal elements the last one counts. NaN counts as the
/// smallest, so it propagates.
///
/// # Errors
/// As [`cumsum`].
pub fn cummin(out: &mut ViewMut<'_>, indices: &mut ViewMut<'_>, x: &View<'_>, axis: i64) -> Result<()> {
    with_number!(x.dtype(), T => extremum::<T>(out, indices, x, axis, |new, best| new <= best))
}

fn extremum<T: Compute + Slot>(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: i64,
    replaces: impl Fn(T, T) -> bool,
) -> Result<()> {
    let around = shape(out.dims(), x.dims(), axis, false)?;
    expect_shape(x.dims(), indices.dims())?;
    let mut places = vec![0_i64; x.len()];
    with_slices([out.reborrow()], [x], |[out], [x]| {
        for first in around.rows().filter(|_| around.len > 0) {
            let (mut best, mut place) = (x[first], 0);
            for (n, at) in around.row(first).enumerate() {
                if replaces(x[at], best) || Numeric::is_nan(x[at]) {
                    (best, place) = (x[at], n as i64);
                }
                (out[at], places[at]) = (best, place);
            }
        }
        Ok(())
    })?;
    store_integers(indices, &places)
}

/// Computes the gradient of [`cummax`] and [`cummin`] with respect to `x`: the sum of `dout` over the outputs
/// that selected the element.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`], and [`Error::Index`] if an index is out of range.
pub fn cumextremum_grad(dx: &mut ViewMut<'_>, indices: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    let around = shape(dx.dims(), dout.dims(), axis, false)?;
    expect_shape(dout.dims(), indices.dims())?;
    let places = integers(indices)?;
    let places: Vec<usize> = places
        .into_iter()
        .map(|place| crate::tensor::axis::index(place, around.len))
        .collect::<Result<_>>()?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(0.0);
            for first in around.rows() {
                around.row(first).for_each(|at| dx[first + places[at] * around.inner] += dout[at]);
            }
            Ok(())
        })
    })
}
