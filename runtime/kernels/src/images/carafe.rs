//! Content-aware reassembly of features (Wang et al., "CARAFE", 2019).

use super::{image, size};
use crate::attributes::CarafeAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`carafe`].
///
/// # Errors
/// As [`carafe`].
pub fn carafe_shape(x: TensorMeta<'_>, masks: TensorMeta<'_>, with: &CarafeAttributes) -> Result<Vec<usize>> {
    let CarafeAttributes { kernel_size, groups, scale } = *with;
    Ok(Rules::new(x.dims(), masks.dims(), kernel_size, groups, scale)?.result().to_vec())
}

/// Enlarges images by a factor: each pixel of the result is a weighted sum of the window around its pixel.
///
/// The weights are `[batch, groups * kernel_size * kernel_size, height, width]`, one for each pixel of the window,
/// and equal for the channels of a group. Pixels outside the image are zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for a size that is not positive, an even window, or
/// channels that are no groups, and [`Error::Type`].
pub fn carafe(out: &mut ViewMut<'_>, x: &View<'_>, masks: &View<'_>, with: &CarafeAttributes) -> Result<()> {
    let CarafeAttributes { kernel_size, groups, scale } = *with;
    let rules = Rules::new(x.dims(), masks.dims(), kernel_size, groups, scale)?;
    expect_shape(&rules.result(), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, masks], |[out], [x, masks]| {
            out.fill(0.0);
            rules.each(|result, pixel, weight| out[result] += x[pixel] * masks[weight]);
            Ok(())
        })
    })
}

/// Computes the gradients of [`carafe`].
///
/// # Errors
/// As [`carafe`].
pub fn carafe_grad(
    dx: &mut ViewMut<'_>,
    dmasks: &mut ViewMut<'_>,
    x: &View<'_>,
    masks: &View<'_>,
    dout: &View<'_>,
    with: &CarafeAttributes,
) -> Result<()> {
    let CarafeAttributes { kernel_size, groups, scale } = *with;
    let rules = Rules::new(x.dims(), masks.dims(), kernel_size, groups, scale)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(masks.dims(), dmasks.dims())?;
    with_float!(x.dtype(), T => {
        let outs = [dx.reborrow(), dmasks.reborrow()];
        with_slices::<T, 2, 3>(outs, [x, masks, dout], |[dx, dmasks], [x, masks, dout]| {
            dx.fill(0.0);
            dmasks.fill(0.0);
            rules.each(|result, pixel, weight| {
                dx[pixel] += dout[result] * masks[weight];
                dmasks[weight] += dout[result] * x[pixel];
            });
            Ok(())
        })
    })
}

struct Rules {
    batch: usize,
    channels: usize,
    image: [usize; 2],
    groups: usize,
    kernel: usize,
    scale: usize,
}

impl Rules {
    fn new(x: &[usize], masks: &[usize], kernel: i64, groups: i64, scale: i64) -> Result<Self> {
        let [batch, channels, height, width] = image(x)?;
        let kernel = size("kernel_size", kernel)?;
        let groups = size("groups", groups)?;
        let scale = size("scale", scale)?;
        if kernel.is_multiple_of(2) {
            return Err(Error::Attribute { name: "kernel_size", value: kernel.to_string() });
        }
        if !channels.is_multiple_of(groups) {
            return Err(Error::Attribute { name: "groups", value: groups.to_string() });
        }
        let weights = kernel.checked_mul(kernel).and_then(|window| window.checked_mul(groups));
        let sizes = [height, width].map(|len| len.checked_mul(scale));
        let ([Some(height), Some(width)], Some(weights)) = (sizes, weights) else {
            return Err(Error::Overflow);
        };
        expect_shape(&[batch, weights, height, width], masks)?;
        Ok(Self { batch, channels, image: [x[2], x[3]], groups, kernel, scale })
    }

    fn result(&self) -> [usize; 4] {
        let [height, width] = self.image;
        [self.batch, self.channels, height * self.scale, width * self.scale]
    }

    /// Calls a function with the index of a result, the index of a pixel, and the index of its weight.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [_, _, rows, columns] = self.result();
        let ([height, width], window) = (self.image, self.kernel * self.kernel);
        let seen = |place: usize, tap: usize, len: usize| {
            (place / self.scale + tap).checked_sub(self.kernel / 2).filter(|&place| place < len)
        };
        for result in 0..self.batch * self.channels * rows * columns {
            let (plane, place) = (result / (rows * columns), result % (rows * columns));
            let (n, channel) = (plane / self.channels, plane % self.channels);
            let group = n * self.groups + channel / (self.channels / self.groups);
            for tap in 0..window {
                let row = seen(place / columns, tap / self.kernel, height);
                let column = seen(place % columns, tap % self.kernel, width);
                if let (Some(row), Some(column)) = (row, column) {
                    let weight = (group * window + tap) * rows * columns + place;
                    visit(result, (plane * height + row) * width + column, weight);
                }
            }
        }
    }
}
