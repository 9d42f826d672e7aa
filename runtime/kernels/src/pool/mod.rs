//! Pooling of images with one to three dimensions, and its gradients.
//!
//! Images are `[batch, channels, …]`, or `[batch, …, channels]` with the formats `"NHWC"`, `"NDHWC"` and `"NLC"`. Windows
//! have the size `kernel_size` and begin `strides` apart. `paddings` has one or two numbers for each spatial dimension;
//! the algorithms `"SAME"` and `"VALID"` ignore it. With `ceil_mode` a last window may reach past the padding. With
//! `adaptive`, `kernel_size` is the number of windows, which cover the image. With `global_pooling` one window is the
//! image.

mod dilated;
mod plan;

use std::ops::Range;

pub use dilated::dilated_max_pool;

use crate::accumulate::{with_float, with_number};
use crate::error::{Error, Result, expect_shape};
use crate::float::Float;
use crate::numeric::Numeric;
use crate::pool::plan::{Attributes, Plan};
use crate::slices::{Slot, integers, store_integers, with_slices};
use crate::tensor::{View, ViewMut};
use crate::window::{channels_first, channels_first_mut, channels_last};

/// Computes the largest element of each window, or with the type `"avg"` the mean.
///
/// NaN is larger than any number. The largest of a window with padding only is the lowest number, and its mean NaN.
/// Padding counts as zeros in a mean, unless it is `exclusive`; with `ceil_mode` what a window has behind the padding does
/// not count.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], and [`Error::Type`] unless tensors are of floats.
pub fn pool(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    kernel_size: &[i64],
    strides: &[i64],
    paddings: &[i64],
    ceil_mode: bool,
    exclusive: bool,
    data_format: &str,
    pooling_type: &str,
    global_pooling: bool,
    adaptive: bool,
    padding_algorithm: &str,
) -> Result<()> {
    let last = channels_last(data_format)?;
    let largest = is_largest(pooling_type)?;
    let attributes =
        Attributes { kernel_size, strides, paddings, padding_algorithm, ceil_mode, global_pooling, adaptive };
    let (x, out) = (channels_first(x, last), channels_first_mut(out, last));
    let plan = Plan::new(x.dims(), out.dims(), attributes)?;
    with_float!(x.dtype(), T => with_slices::<T, 1, 1>([out], [&x], |[out], [x]| {
        for (windows, image) in plan.parts() {
            match largest {
                true => {
                    let (lowest, start) = (T::LOWEST, T::of(f64::NEG_INFINITY));
                    let has_elements =
                        |window: [plan::Window; 3]| window.iter().all(|window| window.start < window.end);
                    let finish = |x, window| if has_elements(window) { x } else { lowest };
                    plan.fold(&mut out[windows], &x[image], start, Numeric::max, finish);
                }
                false => plan.fold(&mut out[windows], &x[image], T::ZERO, |a, b| a + b, |sum, window| {
                    sum / T::of(divisor(window, exclusive))
                }),
            }
        }
        Ok(())
    }))
}

/// The gradient of [`pool`]: to the first of the largest elements of each window, or to all in equal parts.
///
/// # Errors
/// As [`pool`].
pub fn pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    kernel_size: &[i64],
    strides: &[i64],
    paddings: &[i64],
    ceil_mode: bool,
    exclusive: bool,
    data_format: &str,
    pooling_type: &str,
    global_pooling: bool,
    adaptive: bool,
    padding_algorithm: &str,
) -> Result<()> {
    let last = channels_last(data_format)?;
    let largest = is_largest(pooling_type)?;
    let attributes =
        Attributes { kernel_size, strides, paddings, padding_algorithm, ceil_mode, global_pooling, adaptive };
    let (x, dout, dx) = (channels_first(x, last), channels_first(dout, last), channels_first_mut(dx, last));
    expect_shape(x.dims(), dx.dims())?;
    let plan = Plan::new(x.dims(), dout.dims(), attributes)?;
    with_float!(x.dtype(), T => with_slices::<T, 1, 2>([dx], [&x, &dout], |[dx], [x, dout]| {
        dx.fill(T::ZERO);
        for (windows, image) in plan.parts() {
            let (dout, x, dx) = (&dout[windows], &x[image.clone()], &mut dx[image]);
            plan.each_window(|number, window| {
                if largest {
                    plan.largest(x, window).into_iter().for_each(|at| dx[at] += dout[number]);
                } else {
                    let part = dout[number] / T::of(divisor(window, exclusive));
                    plan.rows(window).for_each(|row| dx[row].iter_mut().for_each(|dx| *dx += part));
                }
            });
        }
        Ok(())
    }))
}

/// Computes the largest element of each window, and its number among the elements of its image.
///
/// The channels come first. Of equal elements it is the first one; NaN is larger than any number.
///
/// # Errors
/// As [`pool`], [`Error::Empty`] if a window has no element, and [`Error::Type`] if elements are complex.
pub fn max_pool_with_index(
    out: &mut ViewMut<'_>,
    mask: &mut ViewMut<'_>,
    x: &View<'_>,
    kernel_size: &[i64],
    strides: &[i64],
    paddings: &[i64],
    global_pooling: bool,
    adaptive: bool,
    ceil_mode: bool,
) -> Result<()> {
    let padding_algorithm = "EXPLICIT";
    let attributes =
        Attributes { kernel_size, strides, paddings, padding_algorithm, ceil_mode, global_pooling, adaptive };
    let plan = Plan::new(x.dims(), out.dims(), attributes)?;
    expect_shape(out.dims(), mask.dims())?;
    let mut places = vec![0_i64; out.len()];
    with_number!(x.dtype(), T => {
        let x = T::load(x)?;
        for (windows, image) in plan.parts() {
            let (places, x) = (&mut places[windows], &x[image]);
            plan.each_window(|number, window| {
                places[number] = plan.largest(x, window).map_or(-1, |at| at as i64);
            });
        }
        if places.contains(&-1) {
            return Err(Error::Empty);
        }
        with_slices::<T, 1, 0>([out.reborrow()], [], |[out], []| {
            for (windows, image) in plan.parts() {
                let x = &x[image];
                for (out, place) in out[windows.clone()].iter_mut().zip(places[windows].iter().copied()) {
                    *out = x[place as usize];
                }
            }
            Ok(())
        })?;
        store_integers(mask, &places)
    })
}

/// The gradient of [`max_pool_with_index`]: to the element whose number the mask has.
///
/// # Errors
/// [`Error::Shape`], [`Error::Index`] if a number is none of an element, and [`Error::Type`].
pub fn max_pool_with_index_grad(dx: &mut ViewMut<'_>, mask: &View<'_>, dout: &View<'_>) -> Result<()> {
    expect_shape(mask.dims(), dout.dims())?;
    let &[batch, channels, ref image @ ..] = dx.dims() else {
        return Err(Error::Rank { dims: dx.dims().len(), strides: 3 });
    };
    expect_shape(&[batch, channels], dout.dims().get(..2).unwrap_or_default())?;
    let (len, count) = (image.iter().product::<usize>(), dout.dims()[2..].iter().product::<usize>());
    if mask.dtype().is_float() {
        return Err(Error::Type { dtype: mask.dtype() });
    }
    let places = integers(mask)?;
    let outside = places.iter().find(|&&place| !usize::try_from(place).is_ok_and(|place| place < len));
    if let Some(&index) = outside {
        return Err(Error::Index { index, len });
    }
    with_float!(dx.dtype(), T => with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
        dx.fill(T::ZERO);
        for (number, (&place, &dout)) in places.iter().zip(dout).enumerate() {
            dx[number / count * len + place as usize] += dout;
        }
        Ok(())
    }))
}

fn is_largest(pooling_type: &str) -> Result<bool> {
    match pooling_type {
        "max" => Ok(true),
        "avg" => Ok(false),
        _ => Err(Error::Attribute { name: "pooling_type", value: pooling_type.to_owned() }),
    }
}

/// Returns the divisor of the sum of a window's elements.
fn divisor(window: [plan::Window; 3], exclusive: bool) -> f64 {
    let len = |window: plan::Window| if exclusive { window.end - window.start } else { window.len };
    window.map(len).iter().product::<usize>() as f64
}

impl Plan {
    /// Returns for each image the range of its windows and that of its elements.
    fn parts(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (windows, image) = (self.window_count(), self.image_len());
        let part = |number: usize, len: usize| number * len..(number + 1) * len;
        (0..self.images).map(move |number| (part(number, windows), part(number, image)))
    }

    /// Makes one number of the elements of each window of an image: first of those below each other, where loops are
    /// long, then of what is left side by side.
    fn fold<T: Float>(
        &self,
        out: &mut [T],
        x: &[T],
        start: T,
        step: impl Fn(T, T) -> T,
        finish: impl Fn(T, [plan::Window; 3]) -> T,
    ) {
        let [zs, ys, xs] = &self.windows;
        let [_, height, width] = self.image;
        let mut line = vec![start; width];
        let mut out = out.iter_mut();
        for (z, y) in zs.iter().flat_map(|z| ys.iter().map(move |y| (*z, *y))) {
            line.fill(start);
            for row in (z.start..z.end).flat_map(|z| (y.start..y.end).map(move |y| z * height + y)) {
                let row = &x[row * width..][..width];
                line.iter_mut().zip(row).for_each(|(line, &x)| *line = step(*line, x));
            }
            for (&x, out) in xs.iter().zip(&mut out) {
                let value = line[x.start..x.end.max(x.start)].iter().fold(start, |sum, &x| step(sum, x));
                *out = finish(value, [z, y, x]);
            }
        }
    }

    /// Returns the place in an image of the first of the largest elements of a window.
    fn largest<T: Numeric>(&self, x: &[T], window: [plan::Window; 3]) -> Option<usize> {
        let mut best: Option<(usize, T)> = None;
        for row in self.rows(window) {
            for (at, &value) in row.clone().zip(&x[row]) {
                if best.is_none_or(|(_, best)| value > best || (value.is_nan() && !best.is_nan())) {
                    best = Some((at, value));
                }
            }
        }
        best.map(|(at, _)| at)
    }
}
