//! Conversions between blocks of images and channels.

use super::expect_type;
use crate::attributes::UnfoldAttributes;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::movement::{self, with_word};
use crate::loops::slices::{Slot, with_slices};
use crate::loops::window::windows;
use crate::tensor::{View, ViewMut};

/// The sizes of a sliding window: of the image, of the window, and so on. Vertical sizes come before
/// horizontal ones.
struct Windows {
    batch: usize,
    channels: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    before: [usize; 2],
    dilation: [usize; 2],
    /// The number of windows.
    count: [usize; 2],
}

fn sizes<const N: usize>(name: &'static str, values: &[i64], least: i64) -> Result<[usize; N]> {
    let refused = || Error::Attribute { name, value: format!("{values:?}") };
    let array: [i64; N] = values.try_into().map_err(|_| refused())?;
    if array.iter().any(|&value| value < least) {
        return Err(refused());
    }
    Ok(array.map(|value| value as usize))
}

impl Windows {
    fn new(
        image: &[usize],
        columns: &[usize],
        kernel_sizes: &[i64],
        strides: &[i64],
        paddings: &[i64],
        dilations: &[i64],
    ) -> Result<Self> {
        let &[batch, channels, height, width] = image else {
            return Err(Error::Rank { dims: image.len(), strides: 4 });
        };
        let kernel: [usize; 2] = sizes("kernel_sizes", kernel_sizes, 1)?;
        let stride: [usize; 2] = sizes("strides", strides, 1)?;
        let dilation: [usize; 2] = sizes("dilations", dilations, 1)?;
        let [up, left, down, right] = match paddings {
            &[vertical, horizontal] => sizes("paddings", &[vertical, horizontal, vertical, horizontal], 0)?,
            _ => sizes("paddings", paddings, 0)?,
        };
        let image = [height, width];
        let (mut count, mut truncated) = ([0; 2], [0; 2]);
        for (n, padding) in [up.checked_add(down), left.checked_add(right)].into_iter().enumerate() {
            let span = dilation[n].checked_mul(kernel[n] - 1).and_then(|reach| reach.checked_add(1));
            let room = padding.and_then(|padding| image[n].checked_add(padding));
            let (span, room) = (span.ok_or(Error::Overflow)?, room.ok_or(Error::Overflow)?);
            count[n] = windows(room, span, stride[n], 0);
            truncated[n] = windows(room, span, stride[n], 1);
        }
        // The result has only the product of the numbers, so that one alone cannot be compared.
        if columns.last().is_some_and(|&len| len > 0) {
            count = truncated;
        }
        let rows = channels.checked_mul(kernel[0]).and_then(|rows| rows.checked_mul(kernel[1]));
        let expected = vec![batch, rows.ok_or(Error::Overflow)?, count[0] * count[1]];
        if columns != expected {
            return Err(Error::Shape { expected, actual: columns.to_vec() });
        }
        Ok(Self { batch, channels, image, kernel, stride, before: [up, left], dilation, count })
    }

    /// Calls a function with each position in the columns and the corresponding position in the image, if it
    /// is in the image.
    fn each(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        let [height, width] = self.image;
        let mut column = 0;
        for plane in 0..self.batch * self.channels {
            for tap in 0..self.kernel[0] * self.kernel[1] {
                let (tap_y, tap_x) = (tap / self.kernel[1], tap % self.kernel[1]);
                for row in 0..self.count[0] {
                    let y = (row * self.stride[0] + tap_y * self.dilation[0]).checked_sub(self.before[0]);
                    let line = y.filter(|&y| y < height).map(|y| (plane * height + y) * width);
                    for at in 0..self.count[1] {
                        let x = (at * self.stride[1] + tap_x * self.dilation[1]).checked_sub(self.before[1]);
                        let x = x.filter(|&x| x < width);
                        visit(column, line.and_then(|line| x.map(|x| line + x)));
                        column += 1;
                    }
                }
            }
        }
    }

    fn gather(&self, columns: &mut ViewMut<'_>, image: &View<'_>) -> Result<()> {
        expect_type(columns, image)?;
        with_word!(columns.dtype(), W => {
            with_slices::<W, 1, 1>([columns.reborrow()], [image], |[columns], [image]| {
                self.each(|column, place| columns[column] = place.map_or(W::EMPTY, |place| image[place]));
                Ok(())
            })
        })
    }

    fn add(&self, image: &mut ViewMut<'_>, columns: &View<'_>) -> Result<()> {
        fn run<T: Compute + Slot>(windows: &Windows, image: ViewMut<'_>, columns: &View<'_>) -> Result<()> {
            with_slices::<T, 1, 1>([image], [columns], |[image], [columns]| {
                image.fill(T::of(0.0));
                windows.each(|column, place| {
                    if let Some(place) = place {
                        image[place] = image[place] + columns[column];
                    }
                });
                Ok(())
            })
        }
        expect_type(image, columns)?;
        with_number!(columns.dtype(), T => run::<T>(self, image.reborrow(), columns))
    }
}

/// Copies the windows of images to columns: `[batch, channels, height, width]` to `[batch, channels * window,
/// windows]`.
///
/// Vertical sizes come before horizontal ones. `paddings` has two numbers, or those of top, left, bottom and
/// right. The border is zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Type`] if types differ, [`Error::Attribute`].
pub fn unfold(out: &mut ViewMut<'_>, x: &View<'_>, with: &UnfoldAttributes<'_>) -> Result<()> {
    let UnfoldAttributes { kernel_sizes, strides, paddings, dilations } = *with;
    Windows::new(x.dims(), out.dims(), kernel_sizes, strides, paddings, dilations)?.gather(out, x)
}

/// Computes the gradient of [`unfold`] with respect to `x`, as [`fold`] does.
///
/// # Errors
/// As [`fold`].
pub fn unfold_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &UnfoldAttributes<'_>) -> Result<()> {
    let UnfoldAttributes { kernel_sizes, strides, paddings, dilations } = *with;
    fold(dx, dout, &UnfoldAttributes { kernel_sizes, strides, paddings, dilations })
}

/// Adds the columns of windows to the images that they come from: the transpose of [`unfold`]. The output
/// determines the size of the images.
///
/// # Errors
/// As [`unfold`], and [`Error::Type`] if a type is complex.
pub fn fold(out: &mut ViewMut<'_>, x: &View<'_>, with: &UnfoldAttributes<'_>) -> Result<()> {
    let UnfoldAttributes { kernel_sizes, strides, paddings, dilations } = *with;
    Windows::new(out.dims(), x.dims(), kernel_sizes, strides, paddings, dilations)?.add(out, x)
}

/// Computes the gradient of [`fold`] with respect to `x`, as [`unfold`] does.
///
/// # Errors
/// As [`unfold`].
pub fn fold_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &UnfoldAttributes<'_>) -> Result<()> {
    let UnfoldAttributes { kernel_sizes, strides, paddings, dilations } = *with;
    unfold(dx, dout, &UnfoldAttributes { kernel_sizes, strides, paddings, dilations })
}

/// Returns the positions of the dimensions batch, channels, height and width.
pub(super) fn layout(data_format: &str) -> Result<[usize; 4]> {
    match data_format {
        "NCHW" => Ok([0, 1, 2, 3]),
        "NHWC" => Ok([0, 3, 1, 2]),
        other => Err(Error::Attribute { name: "data_format", value: other.to_owned() }),
    }
}

pub(super) fn expect_images(dims: &[usize]) -> Result<()> {
    if dims.len() == 4 { Ok(()) } else { Err(Error::Rank { dims: dims.len(), strides: 4 }) }
}

pub(super) fn positive(name: &'static str, value: i64) -> Result<usize> {
    let refused = || Error::Attribute { name, value: value.to_string() };
    usize::try_from(value).ok().filter(|&value| value > 0).ok_or_else(refused)
}

/// Divides the length of a dimension by a number. The division must be exact.
pub(super) fn quotient(name: &'static str, dim: usize, divisor: usize) -> Result<usize> {
    if dim.is_multiple_of(divisor) {
        Ok(dim / divisor)
    } else {
        Err(Error::Attribute { name, value: divisor.to_string() })
    }
}

/// Converts channels to blocks of pixels: `factor²` channels become one, and each pixel becomes a square of
/// `factor²` pixels.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Type`] if types differ, [`Error::Attribute`].
pub fn pixel_shuffle(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    upscale_factor: i64,
    data_format: &str,
) -> Result<()> {
    expect_type(out, x)?;
    expect_images(x.dims())?;
    let places = layout(data_format)?;
    let factor = positive("upscale_factor", upscale_factor)?;
    let [batch, channels, height, width] = places.map(|place| x.dims()[place]);
    let area = factor.checked_mul(factor).ok_or(Error::Overflow)?;
    let channels = quotient("upscale_factor", channels, area)?;
    let mut dims = [0; 4];
    let large = [batch, channels, height * factor, width * factor];
    places.into_iter().zip(large).for_each(|(place, len)| dims[place] = len);
    expect_shape(&dims, out.dims())?;
    let x = x.clone().permute(&places)?.split(1, &[channels, factor, factor])?;
    let x = x.permute(&[0, 1, 4, 2, 5, 3])?;
    let out = out.reborrow().permute(&places)?.split(3, &[width, factor])?;
    movement::copy(&mut out.split(2, &[height, factor])?, &x)
}

/// Computes the gradient of [`pixel_shuffle`] with respect to `x`, as [`pixel_unshuffle`] does.
///
/// # Errors
/// As [`pixel_unshuffle`].
pub fn pixel_shuffle_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    upscale_factor: i64,
    data_format: &str,
) -> Result<()> {
    pixel_unshuffle(dx, dout, upscale_factor, data_format)
}

/// Converts blocks of pixels to channels: the inverse of [`pixel_shuffle`].
///
/// # Errors
/// As [`pixel_shuffle`].
pub fn pixel_unshuffle(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    downscale_factor: i64,
    data_format: &str,
) -> Result<()> {
    expect_type(out, x)?;
    expect_images(x.dims())?;
    let places = layout(data_format)?;
    let factor = positive("downscale_factor", downscale_factor)?;
    let [batch, channels, height, width] = places.map(|place| x.dims()[place]);
    let (height, width) =
        (quotient("downscale_factor", height, factor)?, quotient("downscale_factor", width, factor)?);
    let mut dims = [0; 4];
    let area =
        factor.checked_mul(factor).and_then(|area| area.checked_mul(channels)).ok_or(Error::Overflow)?;
    places.into_iter().zip([batch, area, height, width]).for_each(|(place, len)| dims[place] = len);
    expect_shape(&dims, out.dims())?;
    let out = out.reborrow().permute(&places)?.split(1, &[channels, factor, factor])?;
    let x = x.clone().permute(&places)?.split(3, &[width, factor])?.split(2, &[height, factor])?;
    movement::copy(&mut out.permute(&[0, 1, 4, 2, 5, 3])?, &x)
}

/// Computes the gradient of [`pixel_unshuffle`] with respect to `x`, as [`pixel_shuffle`] does.
///
/// # Errors
/// As [`pixel_shuffle`].
pub fn pixel_unshuffle_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    downscale_factor: i64,
    data_format: &str,
) -> Result<()> {
    pixel_shuffle(dx, dout, downscale_factor, data_format)
}

/// Interleaves the channels of groups: channel `n` of group `g` becomes channel `g` of group `n`.
///
/// # Errors
/// As [`pixel_shuffle`].
pub fn channel_shuffle(out: &mut ViewMut<'_>, x: &View<'_>, groups: i64, data_format: &str) -> Result<()> {
    expect_type(out, x)?;
    expect_images(x.dims())?;
    expect_shape(out.dims(), x.dims())?;
    let channel = layout(data_format)?[1];
    let groups = positive("groups", groups)?;
    let own = quotient("groups", x.dims()[channel], groups)?;
    let x = x.clone().split(channel, &[groups, own])?;
    let mut order = [0, 1, 2, 3, 4];
    order.swap(channel, channel + 1);
    movement::copy(&mut out.reborrow().split(channel, &[own, groups])?, &x.permute(&order)?)
}

/// Computes the gradient of [`channel_shuffle`] with respect to `x`.
///
/// # Errors
/// As [`channel_shuffle`].
pub fn channel_shuffle_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    groups: i64,
    data_format: &str,
) -> Result<()> {
    expect_images(dout.dims())?;
    let groups = positive("groups", groups)?;
    let own = quotient("groups", dout.dims()[layout(data_format)?[1]], groups)?;
    channel_shuffle(dx, dout, own.max(1) as i64, data_format)
}
