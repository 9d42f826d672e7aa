//! Features at the corners and the centre of rotated boxes (Yang et al., "R3Det", 2021).

use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::images::image;
use crate::loops::slices::{floats, with_slices};
use crate::loops::taps::clamped_taps;
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Adds to each pixel the samples at the centre of its box and, with 5 points, at its corners.
///
/// Boxes are `[batch, height, width, 5]`: the centre `y, x`, the width, the height and the angle. All but the angle
/// are multiplied by `spatial_scale`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for another number of points than 1 and 5, and
/// [`Error::Type`].
pub fn rotated_feature_align(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    spatial_scale: f64,
    points: i64,
) -> Result<()> {
    let rules = Rules::new(x.dims(), boxes, spatial_scale, points)?;
    expect_shape(x.dims(), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.copy_from_slice(x);
            rules.each(|to, from, weight| out[to] += x[from] * T::of(weight));
            Ok(())
        })
    })
}

/// Computes the gradient of [`rotated_feature_align`] with respect to the images.
///
/// # Errors
/// As [`rotated_feature_align`].
pub fn rotated_feature_align_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    dout: &View<'_>,
    spatial_scale: f64,
    points: i64,
) -> Result<()> {
    let rules = Rules::new(dx.dims(), boxes, spatial_scale, points)?;
    expect_shape(dx.dims(), dout.dims())?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.copy_from_slice(dout);
            rules.each(|to, from, weight| dx[from] += dout[to] * T::of(weight));
            Ok(())
        })
    })
}

struct Rules {
    channels: usize,
    image: [usize; 2],
    boxes: Vec<f64>,
    scale: f64,
    has_corners: bool,
}

impl Rules {
    fn new(images: &[usize], boxes: &View<'_>, scale: f64, points: i64) -> Result<Self> {
        let [batch, channels, height, width] = image(images)?;
        expect_shape(&[batch, height, width, 5], boxes.dims())?;
        if !matches!(points, 1 | 5) {
            return Err(Error::Attribute { name: "points", value: points.to_string() });
        }
        let boxes = floats(boxes)?.into_owned();
        Ok(Self { channels, image: [height, width], boxes, scale, has_corners: points == 5 })
    }

    /// Calls a function with the pixel that a sample is added to, a pixel that it depends on, and its weight.
    fn each(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let pixels = self.image[0] * self.image[1];
        for (n, numbers) in self.boxes.as_chunks::<5>().0.iter().enumerate() {
            let [y, x, width, height] = [0, 1, 2, 3].map(|n| numbers[n] * self.scale);
            let (sin, cos) = numbers[4].sin_cos();
            let corners = [(0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)];
            let corners = corners.into_iter().filter(|_| self.has_corners);
            for (along, across) in std::iter::once((0.0, 0.0)).chain(corners) {
                let (along, across) = (along * width, across * height);
                let taps =
                    clamped_taps(y + along * sin + across * cos, x + along * cos - across * sin, self.image);
                for channel in 0..self.channels {
                    let start = (n / pixels * self.channels + channel) * pixels;
                    for tap in &taps {
                        visit(start + n % pixels, start + tap.pixel, tap.weight);
                    }
                }
            }
        }
    }
}
