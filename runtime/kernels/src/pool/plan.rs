//! The positions of the windows of a pooling operator.

use crate::attributes::PoolAttributes;
use crate::error::{Error, Result, expect_shape};
use crate::loops::window::{SPACE, Spatial, attribute, paddings, space, windows};

/// A window along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The first element of the image in the window.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The number of elements, padding included.
    pub(super) len: usize,
}

/// The attributes of a pooling operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    pub(super) kernel_size: &'a [i64],
    pub(super) strides: &'a [i64],
    pub(super) paddings: &'a [i64],
    pub(super) padding_algorithm: &'a str,
    pub(super) ceil_mode: bool,
    pub(super) global_pooling: bool,
    pub(super) adaptive: bool,
}

impl<'a> From<&PoolAttributes<'a>> for Attributes<'a> {
    fn from(with: &PoolAttributes<'a>) -> Self {
        let PoolAttributes {
            kernel_size,
            strides,
            paddings,
            ceil_mode,
            global_pooling,
            adaptive,
            padding_algorithm,
            exclusive: _,
            data_format: _,
            pooling_type: _,
        } = *with;
        Attributes { kernel_size, strides, paddings, padding_algorithm, ceil_mode, global_pooling, adaptive }
    }
}

/// The windows of all images: samples and channels are treated alike.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) images: usize,
    pub(super) image: Spatial<usize>,
    pub(super) windows: Spatial<Vec<Window>>,
}

impl Plan {
    /// Computes the windows over `x` for a result of shape `out`. Both have their channels first.
    pub(super) fn new(x: &[usize], out: &[usize], attributes: Attributes<'_>) -> Result<Self> {
        let (image, rank) = (space(x)?, x.len().saturating_sub(2));
        if out.len() != x.len() {
            return Err(Error::Shape { expected: x.to_vec(), actual: out.to_vec() });
        }
        let windows = if attributes.global_pooling {
            image.map(|len| vec![Window { start: 0, end: len, len }])
        } else if attributes.adaptive {
            let counts = attribute("kernel_size", attributes.kernel_size, rank, 1)?;
            std::array::from_fn(|n| adaptive(image[n], counts[n]))
        } else {
            attributes.sliding(image, rank, space(out)?)?
        };
        let lens = windows.each_ref().map(Vec::len);
        expect_shape(&[&x[..2], &lens[SPACE - rank..]].concat(), out)?;
        Ok(Self { images: x[0] * x[1], image, windows })
    }

    pub(super) fn image_len(&self) -> usize {
        self.image.iter().product()
    }

    pub(super) fn width(&self) -> usize {
        let [_, _, width] = self.image;
        width
    }

    pub(super) fn window_count(&self) -> usize {
        self.windows.iter().map(Vec::len).product()
    }

    /// Calls `visit` with each window in row-major order.
    pub(super) fn each_window(&self, mut visit: impl FnMut(usize, Spatial<Window>)) {
        let [zs, ys, xs] = &self.windows;
        let mut number = 0;
        for &z in zs {
            for &y in ys {
                for &x in xs {
                    visit(number, [z, y, x]);
                    number += 1;
                }
            }
        }
    }

    /// Returns the ranges of an image that the rows of a window cover.
    pub(super) fn rows(
        &self,
        [z, y, x]: Spatial<Window>,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let [_, height, width] = self.image;
        (z.start..z.end).flat_map(move |z| {
            (y.start..y.end).map(move |y| {
                let row = (z * height + y) * width;
                row + x.start..row + x.end.max(x.start)
            })
        })
    }
}

impl Attributes<'_> {
    /// Returns the windows; where hosts count them differently, as many as `wanted`.
    fn sliding(
        &self,
        image: Spatial<usize>,
        rank: usize,
        wanted: Spatial<usize>,
    ) -> Result<Spatial<Vec<Window>>> {
        let kernel = attribute("kernel_size", self.kernel_size, rank, 1)?;
        let strides = attribute("strides", self.strides, rank, 1)?;
        let paddings = paddings(self.paddings, self.padding_algorithm, rank, image, kernel, strides)?;
        Ok(std::array::from_fn(|n| {
            let (len, [before, behind], stride) = (image[n], paddings[n], strides[n]);
            let up = if self.ceil_mode { stride - 1 } else { 0 };
            let count = windows(len + before + behind + up, kernel[n], stride, wanted[n]);
            let window = |number: usize| {
                let start = number * stride;
                // As in PaddlePaddle: the padding before the image counts on both sides.
                let end = (start + kernel[n]).min(len + 2 * before);
                Window {
                    start: start.saturating_sub(before).min(len),
                    end: end.saturating_sub(before).min(len),
                    len: end.saturating_sub(start),
                }
            };
            (0..count).map(window).collect()
        }))
    }
}

/// Splits a dimension into `count` windows that cover it and have sizes as equal as possible.
fn adaptive(len: usize, count: usize) -> Vec<Window> {
    let window = |number: usize| {
        let (start, end) = (number * len / count, ((number + 1) * len).div_ceil(count));
        Window { start, end, len: end - start }
    };
    (0..count).map(window).collect()
}
