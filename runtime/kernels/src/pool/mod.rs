//! Pooling of images with one to three dimensions, and its gradients.
//!
//! Images are `[batch, channels, …]`, or `[batch, …, channels]` with the formats `"NHWC"`, `"NDHWC"` and
//! `"NLC"`. Windows have the size `kernel_size` and begin `strides` apart. `paddings` has one or two numbers
//! for each spatial dimension; the algorithms `"SAME"` and `"VALID"` ignore it. With `ceil_mode`, the last
//! window may extend past the padding. With `adaptive`, `kernel_size` is the number of windows, which cover
//! the image. With `global_pooling`, a single window covers the image.

mod dilated;
mod largest;
mod plan;
mod squares;

use crate::attributes::{MaxPoolWithIndexAttributes, PoolAttributes};
use std::ops::Range;

pub use dilated::dilated_max_pool;

use crate::elements::accumulate::{with_float, with_number};
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, integers, store_integers, with_slices};
use crate::loops::window::{channels_first, channels_first_mut, channels_last};
use crate::numeric::Numeric;
use crate::pool::plan::{Attributes, Plan};
use crate::tensor::{View, ViewMut};

/// Computes the largest element of each window, or with the type `"avg"` the mean.
///
/// NaN is larger than any number. The maximum of a window of only padding is the lowest number, and its mean
/// is NaN. In a mean, padding counts as zeros unless `exclusive` is set; with `ceil_mode`, positions past the
/// padding do not count.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], and [`Error::Type`] unless the tensors are floating-point.
pub fn pool(out: &mut ViewMut<'_>, x: &View<'_>, with: &PoolAttributes<'_>) -> Result<()> {
    let last = channels_last(with.data_format)?;
    let largest = is_largest(with.pooling_type)?;
    let attributes = Attributes::from(with);
    let (x, out) = (channels_first(x, last), channels_first_mut(out, last));
    let plan = Plan::new(x.dims(), out.dims(), attributes)?;
    with_float!(x.dtype(), T => with_slices::<T, 1, 1>([out], [&x], |[out], [x]| {
        if plan.has_squares() {
            if largest { squares::combine(
                out,
                x,
                plan.width(),
                #[inline(always)]
                |[a, b, c, d]| a.max(b).max(c.max(d)),
            ) } else { squares::combine(
                out,
                x,
                plan.width(),
                #[inline(always)]
                |[a, b, c, d]| ((a + c) + (b + d)) * T::of(0.25),
            ) }
            return Ok(());
        }
        for (windows, image) in plan.parts() {
            if largest {
                let (lowest, start) = (T::LOWEST, T::of(f64::NEG_INFINITY));
                let has_elements =
                    |window: [plan::Window; 3]| window.iter().all(|window| window.start < window.end);
                let finish = |x, window| if has_elements(window) { x } else { lowest };
                plan.fold(&mut out[windows], &x[image], start, Numeric::max, finish);
            } else { plan.fold(&mut out[windows], &x[image], T::ZERO, |a, b| a + b, |sum, window| {
                sum / T::of(divisor(window, with.exclusive))
            }) }
        }
        Ok(())
    }))
}

/// Computes the gradient of [`pool`]: `dout` goes to the first of the largest elements of each window, or for
/// a mean to all elements in equal parts.
///
/// # Errors
/// As [`pool`].
pub fn pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    with: &PoolAttributes<'_>,
) -> Result<()> {
    let last = channels_last(with.data_format)?;
    let largest = is_largest(with.pooling_type)?;
    let attributes = Attributes::from(with);
    let (x, dout, dx) = (channels_first(x, last), channels_first(dout, last), channels_first_mut(dx, last));
    expect_shape(x.dims(), dx.dims())?;
    let plan = Plan::new(x.dims(), dout.dims(), attributes)?;
    with_float!(x.dtype(), T => with_slices::<T, 1, 2>([dx], [&x, &dout], |[dx], [x, dout]| {
        if plan.has_squares() {
            if largest { squares::gradient_of_largest(dx, x, dout, plan.width()) } else { squares::gradient_of_means(dx, dout, plan.width()) }
            return Ok(());
        }
        dx.fill(T::ZERO);
        if largest {
            plan.each_largest(x, |number, at| dx[at] += dout[number]);
            return Ok(());
        }
        for (windows, image) in plan.parts() {
            let (dout, dx) = (&dout[windows], &mut dx[image]);
            plan.each_window(|number, window| {
                let part = dout[number] / T::of(divisor(window, with.exclusive));
                plan.rows(window).for_each(|row| dx[row].iter_mut().for_each(|dx| *dx += part));
            });
        }
        Ok(())
    }))
}

/// Computes the largest element of each window, and its index in its image.
///
/// The channels come first. Of equal elements the first counts; NaN is larger than any number.
///
/// # Errors
/// As [`pool`], [`Error::Empty`] if a window has no elements, and [`Error::Type`] if elements are complex.
pub fn max_pool_with_index(
    out: &mut ViewMut<'_>,
    mask: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &MaxPoolWithIndexAttributes<'_>,
) -> Result<()> {
    let MaxPoolWithIndexAttributes { kernel_size, strides, paddings, global_pooling, adaptive, ceil_mode } =
        *with;
    let padding_algorithm = "EXPLICIT";
    let attributes =
        Attributes { kernel_size, strides, paddings, padding_algorithm, ceil_mode, global_pooling, adaptive };
    let plan = Plan::new(x.dims(), out.dims(), attributes)?;
    expect_shape(out.dims(), mask.dims())?;
    let mut places = vec![-1_i64; out.len()];
    with_number!(x.dtype(), T => {
        let x = T::load(x)?;
        let image_len = plan.image_len();
        plan.each_largest(&x, |number, at| places[number] = (at % image_len) as i64);
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

/// Computes the gradient of [`max_pool_with_index`]: `dout` goes to the element whose index is in the mask.
///
/// # Errors
/// [`Error::Shape`], [`Error::Index`] if an index is out of range, and [`Error::Type`].
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
    /// Returns, for each image, the range of its windows and the range of its elements.
    fn parts(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (windows, image) = (self.window_count(), self.image_len());
        let part = |number: usize, len: usize| number * len..(number + 1) * len;
        (0..self.images).map(move |number| (part(number, windows), part(number, image)))
    }

    /// Reduces the elements of each window of an image to one number: first along columns, where loops are
    /// long, then along rows.
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
}
