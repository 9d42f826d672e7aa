//! Softmax along a dimension, its logarithm, and their gradients.
//!
//! A tensor without dimensions counts as having a single element. The largest element is subtracted before
//! exponentiation, so finite elements never overflow. NaN or positive infinity makes its whole line NaN.

use crate::elements::accumulate::with_float;
use crate::elements::dtype::Element;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::formulas::arithmetic;
use crate::loops::lines::{each_line, largest_number, sum, total};
use crate::loops::simd::wide;
use crate::loops::slices::with_slices;
use crate::tensor::axis::{Around, axis_or_scalar};
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};
use crate::threads;

/// The number of operations that an element counts as when work is split among threads, mostly those of an exponential.
const OPERATIONS: usize = 32;

/// Computes `exp(x) / sum(exp(x))` along a dimension.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], and
/// [`Error::Type`] unless the input is floating-point.
pub fn softmax(out: &mut ViewMut<'_>, x: &View<'_>, axis: i64) -> Result<()> {
    with_float!(x.dtype(), T => along::<T, 1>(out, [x], axis, |out, [x]| {
        softmax_line(out, x);
    }))
}

/// Computes the gradient of [`softmax`] from its result: `dx = out * (dout - sum(out * dout))`.
///
/// # Errors
/// As [`softmax`].
pub fn softmax_grad(dx: &mut ViewMut<'_>, out: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    with_float!(out.dtype(), T => along::<T, 2>(dx, [out, dout], axis, |dx, [out, dout]| {
        let dot = sum([out, dout], #[inline(always)] |[out, dout]| out * dout);
        wide(
            #[inline(always)]
            || {
                for ((dx, &out), &dout) in dx.iter_mut().zip(out).zip(dout) {
                    *dx = out * (dout - dot);
                }
            },
        );
    }))
}

/// Computes the softmax of the sum of `x` and a mask along the last dimension. The mask is broadcast.
///
/// # Errors
/// As [`softmax`], and [`Error::Broadcast`].
pub fn masked_softmax(out: &mut ViewMut<'_>, x: &View<'_>, mask: &View<'_>) -> Result<()> {
    with_float!(x.dtype(), T => {
        let mut sum = Buffer::new(<T as Element>::DTYPE, x.dims())?;
        arithmetic::add(&mut sum.view_mut()?, x, mask)?;
        softmax(out, &sum.view()?, -1)
    })
}

/// Computes the softmax of the elements of each row up to the diagonal, for square matrices in the last two
/// dimensions. The other elements are zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], and [`Error::Type`] unless the input is floating-point.
pub fn causal_softmax(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let &[.., rows, len] = x.dims() else { return Err(Error::Rank { dims: x.dims().len(), strides: 2 }) };
    if rows != len {
        let mut expected = x.dims().to_vec();
        expected[x.dims().len() - 2] = len;
        return Err(Error::Shape { expected, actual: x.dims().to_vec() });
    }
    expect_shape(x.dims(), out.dims())?;
    with_float!(x.dtype(), T => with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
        // Without elements there is no row; the length of a row must not be zero.
        for (n, (out, x)) in out.chunks_mut(len.max(1)).zip(x.chunks(len.max(1))).enumerate() {
            let seen = n % len + 1;
            softmax_line(&mut out[..seen], &x[..seen]);
            out[seen..].fill(T::ZERO);
        }
        Ok(())
    }))
}

/// Computes `x - log(sum(exp(x)))` along a dimension.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(out: &mut ViewMut<'_>, x: &View<'_>, axis: i64) -> Result<()> {
    with_float!(x.dtype(), T => {
        let shape = shape_of(out, [x], axis)?;
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            match shape.inner {
                1 => log_softmax_lines(out, x, shape.len),
                _ => each_line(shape, out, [x], |out, [x]| log_softmax_lines(out, x, shape.len)),
            }
            Ok(())
        })
    })
}

/// Computes the log-softmax of lines of a length. The logarithms of short lines are computed together, in vectors.
fn log_softmax_lines<T: Float>(out: &mut [T], x: &[T], len: usize) {
    const MOST: usize = 16;
    if len == 0 {
        return;
    }
    // Few enough that the lines stay in the first-level cache.
    let count = (4096 / len).clamp(1, MOST);
    for (out, x) in out.chunks_mut(count * len).zip(x.chunks(count * len)) {
        let (mut tops, mut shifts) = ([T::ZERO; MOST], [T::ONE; MOST]);
        let lines = out.chunks_exact_mut(len).zip(x.chunks_exact(len));
        for ((out, x), (top, shift)) in lines.zip(tops.iter_mut().zip(&mut shifts)) {
            *top = largest_number(x);
            exponentials(out, x, *top);
            *shift = total(out);
        }
        wide(
            #[inline(always)]
            || {
                for shift in &mut shifts {
                    *shift = shift.log();
                }
            },
        );
        let lines = out.chunks_exact_mut(len).zip(x.chunks_exact(len));
        for ((out, x), (&top, &shift)) in lines.zip(tops.iter().zip(&shifts)) {
            wide(
                #[inline(always)]
                move || {
                    for (out, &x) in out.iter_mut().zip(x) {
                        *out = (x - top) - shift;
                    }
                },
            );
        }
    }
}

/// Computes the gradient of [`log_softmax`] from its result: `dx = dout - exp(out) * sum(dout)`.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax_grad(dx: &mut ViewMut<'_>, out: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    with_float!(out.dtype(), T => along::<T, 2>(dx, [out, dout], axis, |dx, [out, dout]| {
        let total = total(dout);
        wide(
            #[inline(always)]
            || {
                for ((dx, &out), &dout) in dx.iter_mut().zip(out).zip(dout) {
                    *dx = dout - out.exp() * total;
                }
            },
        );
    }))
}

/// Computes each line of a tensor from the same lines of inputs of its shape.
fn along<T: Float, const N: usize>(
    out: &mut ViewMut<'_>,
    inputs: [&View<'_>; N],
    axis: i64,
    line: impl Fn(&mut [T], [&[T]; N]) + Sync,
) -> Result<()> {
    let shape = shape_of(out, inputs, axis)?;
    with_slices::<T, 1, N>([out.reborrow()], inputs, |[out], inputs| {
        let of_one = shape.len * shape.inner;
        threads::split(out.len() * OPERATIONS, out, of_one, |start, out| {
            let part = Around { outer: out.len().checked_div(of_one).unwrap_or(0), ..shape };
            each_line(part, out, inputs.map(|input| &input[start..][..out.len()]), &line);
        });
        Ok(())
    })
}

/// Checks that all tensors have the same shape, and returns it.
fn shape_of<const N: usize>(out: &ViewMut<'_>, inputs: [&View<'_>; N], axis: i64) -> Result<Around> {
    inputs.iter().try_for_each(|input| expect_shape(out.dims(), input.dims()))?;
    Ok(Around::new(out.dims(), axis_or_scalar(axis, out.dims().len())?))
}

/// Computes the softmax of a line. Returns its largest element, and the sum of the exponentials of the
/// differences from it.
pub(crate) fn softmax_line<T: Float>(out: &mut [T], x: &[T]) -> [T; 2] {
    let top = largest_number(x);
    exponentials(out, x, top);
    let total = total(out);
    let factor = total.recip();
    wide(
        #[inline(always)]
        || {
            for out in out.iter_mut() {
                *out *= factor;
            }
        },
    );
    [top, total]
}

/// Computes the exponentials of the differences from a number.
fn exponentials<T: Float>(out: &mut [T], x: &[T], top: T) {
    wide(
        #[inline(always)]
        || {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = (x - top).exp();
            }
        },
    );
}

/// Computes the logarithm of the sum of exponentials of a line, as the sum of two numbers: the largest
/// element and the rest.
pub(crate) fn log_sum_exp<T: Float>(x: &[T]) -> [T; 2] {
    let top = largest_number(x);
    let mut sum = T::ZERO;
    let mut tile = [T::ZERO; 256];
    for x in x.chunks(tile.len()) {
        let tile = &mut tile[..x.len()];
        exponentials(tile, x, top);
        sum += total(tile);
    }
    [top, logarithm(sum)]
}

/// Computes the natural logarithm: in vector code, because the multiplications and additions that it fuses are calls
/// elsewhere.
fn logarithm<T: Float>(x: T) -> T {
    wide(
        #[inline(always)]
        move || x.log(),
    )
}
