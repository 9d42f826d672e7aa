//! Reductions with the arguments that frameworks use, and their gradients.
//!
//! `axis` lists the dimensions to reduce; negative ones count from the end. An empty list, or `reduce_all`,
//! means all dimensions. With `keep_dim` the output has the length one for each reduced dimension; otherwise
//! it lacks these dimensions.

mod extremum;
mod norms;

pub use extremum::{amax, amin, argmax, argmin, extremum_grad, max, max_with_indices, min, min_with_indices};
pub use norms::{
    clip_by_norm, frobenius_norm, frobenius_norm_grad, l1_norm, l1_norm_grad, p_norm, p_norm_grad,
    squared_l2_norm, squared_l2_norm_grad,
};

use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::movement;
use crate::loops::slices::{self, Slot, with_slices};
use crate::loops::tiles::update;
use crate::numeric::{Floating, Numeric};
use crate::reduce;
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

/// Resolves the dimensions to reduce, and checks the output's shape.
pub(crate) fn resolve(
    out_dims: &[usize],
    dims: &[usize],
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<Vec<usize>> {
    let axes = match reduce_all || axis.is_empty() {
        true => (0..dims.len()).collect(),
        false if dims.is_empty() => {
            axis.iter().try_for_each(|&number| axis::axis(number, 1).map(drop))?;
            Vec::new()
        }
        false => axis::axes(axis, dims.len())?,
    };
    let kept = dims.iter().enumerate().filter_map(|(n, &dim)| match axes.contains(&n) {
        true => keep_dim.then_some(1),
        false => Some(dim),
    });
    let expected: Vec<usize> = kept.collect();
    if out_dims == expected {
        return Ok(axes);
    }
    Err(Error::Shape { expected, actual: out_dims.to_vec() })
}

/// Broadcasts a tensor of the output's shape to the shape of the input.
fn spread<'v>(out: &View<'v>, dims: &[usize], axes: &[usize]) -> Result<View<'v>> {
    let mut view = out.clone();
    if view.dims().len() < dims.len() {
        let mut axes = axes.to_vec();
        axes.sort_unstable();
        for axis in axes {
            view = view.insert(axis)?;
        }
    }
    view.expand(dims)
}

/// Moves the reduced dimensions to the end; also returns the number of elements in them.
pub(crate) fn rows_last<'v>(x: &View<'v>, axes: &[usize]) -> Result<(View<'v>, usize)> {
    let order: Vec<usize> =
        (0..x.dims().len()).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
    Ok((x.clone().permute(&order)?, axes.iter().map(|&axis| x.dims()[axis]).product()))
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident = $reduce:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`Error::Axis`], [`Error::Shape`], [`Error::Type`].
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
reductions! {
    /// Sums the elements. Sums of integers and booleans wrap in the type of the output, which is `int64` in
    /// frameworks.
    sum = reduce::sum;
    /// Computes the mean of the elements, which are floating-point. The mean of no elements is NaN.
    mean = reduce::mean;
    /// Multiplies the elements.
    prod = reduce::prod;
    /// Tests whether any element is nonzero. NaN is nonzero.
    any = reduce::any;
    /// Tests whether all elements are nonzero. NaN is nonzero.
    all = reduce::all;
}

/// Computes the gradient of [`sum`] with respect to `x`: `dout` for each element.
///
/// # Errors
/// As [`sum`].
pub fn sum_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    let axes = resolve(dout.dims(), dx.dims(), axis, keep_dim, reduce_all)?;
    let dout = spread(dout, dx.dims(), &axes)?;
    movement::copy(dx, &dout)
}

/// Computes the gradient of [`mean`] with respect to `x`: `dout` divided by the number of elements, for each
/// element.
///
/// # Errors
/// As [`mean`].
pub fn mean_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    let axes = resolve(dout.dims(), dx.dims(), axis, keep_dim, reduce_all)?;
    let count: usize = axes.iter().map(|&axis| dx.dims()[axis]).product();
    let dout = spread(dout, dx.dims(), &axes)?;
    with_float!(dx.dtype(), T => {
        let count = count as T;
        update::<T, 1, 1>([Some(dx.reborrow())], [Some(&dout)], |[dout]| [dout / count])
    })
}

/// Computes the gradient of [`prod`] with respect to `x`: `dout` times the product of the other elements.
///
/// Paddle divides the product by the element, which gives NaN for a zero. The product of the other elements
/// is correct in that case too.
///
/// # Errors
/// As [`prod`], and [`Error::Type`] unless the tensors are floating-point.
pub fn prod_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    fn each<T: Compute + Floating + Slot>(dx: ViewMut<'_>, inputs: [&View<'_>; 2], len: usize) -> Result<()> {
        with_slices([dx], inputs, |[dx], [x, dout]| {
            if len == 0 {
                return Ok(());
            }
            for ((dx, x), dout) in
                dx.chunks_exact_mut(len).zip(x.chunks_exact(len)).zip(dout.chunks_exact(len))
            {
                let mut before = T::of(1.0);
                for (dx, &x) in dx.iter_mut().zip(x) {
                    *dx = before;
                    before = before * x;
                }
                let mut behind = dout[0];
                for (dx, &x) in dx.iter_mut().zip(x).rev() {
                    *dx = *dx * behind;
                    behind = behind * x;
                }
            }
            Ok(())
        })
    }
    expect_shape(dx.dims(), x.dims())?;
    let axes = resolve(dout.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    let dout = spread(dout, x.dims(), &axes)?;
    let ((x, len), (dout, _)) = (rows_last(x, &axes)?, rows_last(&dout, &axes)?);
    let order: Vec<usize> =
        (0..dx.dims().len()).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
    let dx = dx.reborrow().permute(&order)?;
    with_float!(dx.dtype(), T => each::<T>(dx, [&x, &dout], len))
}

/// Computes the logarithm of the sum of the exponentials of the elements, without overflow.
///
/// The result for no elements, or for negative infinities only, is negative infinity, as in SciPy. Paddle
/// returns NaN for the latter.
///
/// # Errors
/// As [`sum`], and [`Error::Type`] unless the tensors are floating-point.
pub fn logsumexp(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    let axes = resolve(out.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    rowwise(out, x, &axes, |row| {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, Numeric::max);
        if largest.is_infinite() {
            return largest;
        }
        row.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() + largest
    })
}

/// Computes the gradient of [`logsumexp`] with respect to `x`: `dout * exp(x - out)`.
///
/// # Errors
/// As [`logsumexp`].
pub fn logsumexp_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    let axes = resolve(dout.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    expect_shape(dout.dims(), out.dims())?;
    let (out, dout) = (spread(out, x.dims(), &axes)?, spread(dout, x.dims(), &axes)?);
    with_float!(dx.dtype(), T => {
        update::<T, 1, 3>([Some(dx.reborrow())], [Some(x), Some(&out), Some(&dout)], |[x, out, dout]| {
            [dout * (x - out).exp()]
        })
    })
}

/// Computes each element of the output from the elements of the input that are reduced to it, in `f64`.
fn rowwise(out: &mut ViewMut<'_>, x: &View<'_>, axes: &[usize], each: impl Fn(&[f64]) -> f64) -> Result<()> {
    for dtype in [x.dtype(), out.dtype()] {
        if !dtype.is_float() {
            return Err(Error::Type { dtype });
        }
    }
    let (x, len) = rows_last(x, axes)?;
    with_slices([out.reborrow()], [&x], |[out], [x]| {
        for (n, out) in out.iter_mut().enumerate() {
            *out = each(&x[n * len..][..len]);
        }
        Ok(())
    })
}

/// Computes the mean of all elements.
///
/// # Errors
/// As [`mean`]; the output has one element.
pub fn mean_all(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    let axes: Vec<usize> = (0..x.dims().len()).collect();
    crate::expect_length("out", 1, out.len())?;
    let mut scalar = first_element(out)?;
    reduce::mean(&mut scalar, x, &axes)
}

/// Computes the gradient of [`mean_all`] with respect to `x`.
///
/// # Errors
/// As [`mean_all`].
pub fn mean_all_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    crate::expect_length("dout", 1, dout.len())?;
    let mut dout = dout.clone();
    while !dout.dims().is_empty() {
        dout = dout.select(0, 0)?;
    }
    mean_grad(dx, &dout, &[], false, true)
}

/// Returns a tensor with one element as a tensor without dimensions.
fn first_element<'a>(out: &'a mut ViewMut<'_>) -> Result<ViewMut<'a>> {
    let mut out = out.reborrow();
    while !out.dims().is_empty() {
        out = out.select(0, 0)?;
    }
    Ok(out)
}

/// Sums the elements that are not NaN.
///
/// # Errors
/// As [`sum`].
pub fn nansum(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    if !x.dtype().is_float() {
        return sum(out, x, axis, keep_dim, reduce_all);
    }
    let axes = resolve(out.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    rowwise(out, x, &axes, |row| row.iter().filter(|x| !x.is_nan()).sum())
}

/// Computes the gradient of [`nansum`] with respect to `x`: `dout` for each element, and zero for NaN.
///
/// # Errors
/// As [`nansum`].
pub fn nansum_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    axis: &[i64],
    keep_dim: bool,
    reduce_all: bool,
) -> Result<()> {
    let axes = resolve(dout.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    let dout = spread(dout, x.dims(), &axes)?;
    with_float!(dx.dtype(), T => {
        update::<T, 1, 2>([Some(dx.reborrow())], [Some(x), Some(&dout)], |[x, dout]| {
            [if x.is_nan() { 0.0 } else { dout }]
        })
    })
}

/// Sums the elements along the dimensions along which the output's shape would be broadcast to the input's
/// shape.
///
/// # Errors
/// As [`reduce::sum_to`].
pub fn reduce_as(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    reduce::sum_to(out, x)
}

/// Computes the gradient of [`reduce_as`] with respect to `x`: `dout`, broadcast.
///
/// # Errors
/// [`Error::Broadcast`].
pub fn reduce_as_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    movement::copy(dx, dout)
}

/// Writes the shape of a tensor.
///
/// # Errors
/// [`Error::Shape`] unless the output has one dimension, with one element for each dimension of the input.
pub fn shape(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    expect_shape(&[x.dims().len()], out.dims())?;
    let dims: Vec<i64> = x.dims().iter().map(|&dim| dim as i64).collect();
    slices::store_integers(out, &dims)
}
