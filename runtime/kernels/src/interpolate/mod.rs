//! Resizes images by nearest-neighbour, linear and cubic interpolation. Includes the gradients.
//!
//! Images are `[batch, channels, …]` with one to three spatial dimensions, or `[batch, …, channels]` with the
//! formats `"NHWC"`, `"NDHWC"` and `"NLC"`. All methods process one dimension after the other.
//!
//! An element of the result lies at `ratio * n` in the image with `align_corners` or the `align_mode` 1, else
//! at `ratio * (n + 0.5) - 0.5`; nearest-neighbour interpolation always uses the first formula and rounds
//! down, or to nearest with `align_corners`. The ratio is `(from - 1) / (to - 1)` with `align_corners`,
//! otherwise the reciprocal of `scale` if it is given and positive, otherwise `from / to`. The cubic kernel
//! is that of Keys with the parameter -0.75; it ignores `align_mode`. These are PaddlePaddle's rules.

mod size;

pub use size::{resize, resize_grad, shape};

use std::ops::Range;

use smallvec::SmallVec;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result};
use crate::loops::slices::with_slices;
use crate::loops::window::{SPACE, Spatial, channels_first, channels_first_mut, channels_last, space};
use crate::tensor::{View, ViewMut};

/// Resizes an image to the size of the output.
///
/// `scale` has a number for each spatial dimension, or none.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`], [`Error::Empty`] for an image without pixels, and
/// [`Error::Type`] unless the tensors are floating-point.
pub fn interpolate(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    data_format: &str,
    interp_method: &str,
    scale: &[f64],
    align_corners: bool,
    align_mode: i64,
) -> Result<()> {
    let rules = Rules { method: Method::new(interp_method)?, scale, align_corners, align_mode };
    let last = channels_last(data_format)?;
    let (x, out) = (channels_first(x, last), channels_first_mut(out, last));
    let sizes = sizes(x.dims(), out.dims())?;
    with_float!(x.dtype(), T => {
        let steps = rules.steps::<T>(sizes, x.dims().len() - 2)?;
        with_slices::<T, 1, 1>([out], [&x], |[out], [x]| {
            let mut image = x.to_vec();
            let mut shape = sizes.shape(x.len());
            for (axis, taps) in steps.iter().enumerate() {
                if is_same(sizes.from[axis], taps) {
                    continue;
                }
                image = along(&image, &mut shape, axis + 1, taps);
            }
            out.copy_from_slice(&image);
            Ok(())
        })
    })
}

/// Computes the gradient of [`interpolate`] with respect to `x`.
///
/// # Errors
/// As [`interpolate`].
pub fn interpolate_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    data_format: &str,
    interp_method: &str,
    scale: &[f64],
    align_corners: bool,
    align_mode: i64,
) -> Result<()> {
    let rules = Rules { method: Method::new(interp_method)?, scale, align_corners, align_mode };
    let last = channels_last(data_format)?;
    let (dout, dx) = (channels_first(dout, last), channels_first_mut(dx, last));
    let sizes = sizes(dx.dims(), dout.dims())?;
    with_float!(dout.dtype(), T => {
        let steps = rules.steps::<T>(sizes, dout.dims().len() - 2)?;
        with_slices::<T, 1, 1>([dx], [&dout], |[dx], [dout]| {
            let mut image = dout.to_vec();
            let mut shape = Sizes { from: sizes.to, to: sizes.from }.shape(dout.len());
            for (axis, taps) in steps.iter().enumerate().rev() {
                if is_same(sizes.from[axis], taps) {
                    continue;
                }
                image = back_along(&image, &mut shape, axis + 1, sizes.from[axis], taps);
            }
            dx.copy_from_slice(&image);
            Ok(())
        })
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Nearest,
    Linear,
    Cubic,
}

impl Method {
    fn new(name: &str) -> Result<Self> {
        match name {
            "nearest" => Ok(Self::Nearest),
            "linear" | "bilinear" | "trilinear" => Ok(Self::Linear),
            "bicubic" => Ok(Self::Cubic),
            _ => Err(Error::Attribute { name: "interp_method", value: name.to_owned() }),
        }
    }
}

/// The spatial dimensions before and after interpolation.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    from: Spatial<usize>,
    to: Spatial<usize>,
}

fn sizes(x: &[usize], out: &[usize]) -> Result<Sizes> {
    let sizes = Sizes { from: space(x)?, to: space(out)? };
    if x.len() != out.len() || x[..2] != out[..2] {
        return Err(Error::Shape { expected: x.to_vec(), actual: out.to_vec() });
    }
    if sizes.from.contains(&0) && !out.contains(&0) {
        return Err(Error::Empty);
    }
    Ok(sizes)
}

impl Sizes {
    /// Returns the number of images in `len` elements, followed by their depth, height and width.
    fn shape(&self, len: usize) -> [usize; SPACE + 1] {
        let [depth, height, width] = self.from;
        [len / (depth * height * width).max(1), depth, height, width]
    }
}

/// The input elements that an element of the result depends on, with their weights.
type Taps<T> = SmallVec<[(usize, T); 4]>;

struct Rules<'a> {
    method: Method,
    scale: &'a [f64],
    align_corners: bool,
    align_mode: i64,
}

impl Rules<'_> {
    /// Computes the taps of each result index along each dimension.
    fn steps<T: Float>(&self, sizes: Sizes, rank: usize) -> Result<Spatial<Vec<Taps<T>>>> {
        if !self.scale.is_empty() && self.scale.len() != rank {
            return Err(Error::Attribute { name: "scale", value: format!("{:?}", self.scale) });
        }
        Ok(std::array::from_fn(|n| {
            let (from, to) = (sizes.from[n], sizes.to[n]);
            let Some(dimension) = (n + rank).checked_sub(SPACE) else {
                return vec![Taps::from_iter([(0, T::ONE)]); to];
            };
            let scale = self.scale.get(dimension).copied().filter(|&scale| scale > 0.0);
            let ratio = match scale {
                _ if self.align_corners => (from as f64 - 1.0) / (to as f64 - 1.0).max(1.0),
                Some(scale) => scale.recip(),
                None => from as f64 / to as f64,
            };
            (0..to).map(|index| self.taps(from, index, ratio)).collect()
        }))
    }

    /// Returns the elements that an index depends on, with their weights. Positions are rounded as in
    /// PaddlePaddle.
    fn taps<T: Float>(&self, from: usize, index: usize, ratio: f64) -> Taps<T> {
        let half = T::of(0.5);
        let centred = match self.method {
            Method::Nearest => false,
            Method::Linear => !self.align_corners && self.align_mode == 0,
            Method::Cubic => !self.align_corners,
        };
        let at = T::of(ratio) * (T::of(index as f64) + if centred { half } else { T::ZERO });
        let at = if centred { at - half } else { at };
        match self.method {
            Method::Nearest => {
                let at = ratio as f32 * index as f32 + if self.align_corners { 0.5 } else { 0.0 };
                Taps::from_iter([((at as usize).min(from - 1), T::ONE)])
            }
            Method::Linear => {
                let at = if at > T::ZERO { at } else { T::ZERO };
                let low = (at.into() as usize).min(from - 1);
                let part = at - T::of(low as f64);
                [(low, T::ONE - part), ((low + 1).min(from - 1), part)].into_iter().collect()
            }
            Method::Cubic => {
                let low = at.floor();
                let part = at - low;
                let start = low.into() as isize - 1;
                let place = |n: isize| (start + n).clamp(0, from as isize - 1) as usize;
                (0..4).map(place).zip(cubic(part)).collect()
            }
        }
    }
}

/// Computes the weights of four neighbours for a point between the second and the third.
pub(crate) fn cubic<T: Float>(part: T) -> [T; 4] {
    let (a, one) = (T::of(-0.75), T::ONE);
    let [two, three, four, five, eight] = [2.0, 3.0, 4.0, 5.0, 8.0].map(T::of);
    let near = |x: T| ((a + two) * x - (a + three)) * x * x + one;
    let far = |x: T| ((a * x - five * a) * x + eight * a) * x - four * a;
    [far(part + one), near(part), near(one - part), far(two - part)]
}

/// Computes the derivatives of [`cubic`] with respect to `part`.
pub(crate) fn cubic_slopes<T: Float>(part: T) -> [T; 4] {
    let (a, one) = (T::of(-0.75), T::ONE);
    let [two, three, eight, ten] = [2.0, 3.0, 8.0, 10.0].map(T::of);
    let near = |x: T| (three * (a + two) * x - two * (a + three)) * x;
    let far = |x: T| (three * a * x - ten * a) * x + eight * a;
    [far(part + one), near(part), -near(one - part), -far(two - part)]
}

/// Returns the product of the dimensions before an axis and the product of the dimensions after it.
fn around(shape: &[usize], axis: usize) -> (usize, usize) {
    (shape[..axis].iter().product(), shape[axis + 1..].iter().product())
}

fn row(outer: usize, len: usize, index: usize, inner: usize) -> Range<usize> {
    let start = (outer * len + index) * inner;
    start..start + inner
}

/// Returns true if the interpolation leaves a dimension of length `from` unchanged, as for missing dimensions.
fn is_same<T: Float>(from: usize, taps: &[Taps<T>]) -> bool {
    from == 1 && matches!(taps, [only] if **only == [(0, T::ONE)])
}

/// Interpolates along a dimension and updates its length in the shape.
fn along<T: Float>(x: &[T], shape: &mut [usize; SPACE + 1], axis: usize, taps: &[Taps<T>]) -> Vec<T> {
    let ((outer, inner), len) = (around(&shape[..], axis), shape[axis]);
    let mut out = vec![T::ZERO; outer * taps.len() * inner];
    shape[axis] = taps.len();
    if inner == 1 {
        // Single elements: slices of them would take several times as long.
        for (out, x) in out.chunks_exact_mut(taps.len().max(1)).zip(x.chunks_exact(len.max(1))) {
            for (out, taps) in out.iter_mut().zip(taps) {
                *out = taps.iter().fold(T::ZERO, |sum, &(from, factor)| sum + x[from] * factor);
            }
        }
        return out;
    }
    for number in 0..outer {
        for (index, taps_of) in taps.iter().enumerate() {
            let target = &mut out[row(number, taps.len(), index, inner)];
            for &(from, factor) in taps_of {
                let source = &x[row(number, len, from, inner)];
                target.iter_mut().zip(source).for_each(|(out, &x)| *out += x * factor);
            }
        }
    }
    out
}

/// Computes the gradient of [`along`] for an image of length `len` along the dimension.
fn back_along<T: Float>(
    dout: &[T],
    shape: &mut [usize; SPACE + 1],
    axis: usize,
    len: usize,
    taps: &[Taps<T>],
) -> Vec<T> {
    let (outer, inner) = around(&shape[..], axis);
    let mut dx = vec![T::ZERO; outer * len * inner];
    shape[axis] = len;
    if inner == 1 {
        for (dx, dout) in dx.chunks_exact_mut(len.max(1)).zip(dout.chunks_exact(taps.len().max(1))) {
            for (&dout, taps) in dout.iter().zip(taps) {
                taps.iter().for_each(|&(from, factor)| dx[from] += dout * factor);
            }
        }
        return dx;
    }
    for number in 0..outer {
        for (index, taps_of) in taps.iter().enumerate() {
            let source = &dout[row(number, taps.len(), index, inner)];
            for &(from, factor) in taps_of {
                let target = &mut dx[row(number, len, from, inner)];
                target.iter_mut().zip(source).for_each(|(dx, &dout)| *dx += dout * factor);
            }
        }
    }
    dx
}
