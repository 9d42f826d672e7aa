//! The samples of deformable windows (Dai et al., "Deformable Convolutional Networks", 2017).

use crate::attributes::DeformableColumnsAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::loops::taps::{Tap, taps};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`deformable_columns`].
///
/// # Errors
/// As [`deformable_columns`].
pub fn deformable_columns_shape(
    x: TensorMeta<'_>,
    offset: TensorMeta<'_>,
    mask: Option<TensorMeta<'_>>,
    with: &DeformableColumnsAttributes<'_>,
) -> Result<Vec<usize>> {
    let DeformableColumnsAttributes { kernel, strides, paddings, dilations } = *with;
    Ok(Windows::new(x, offset, mask, kernel, [strides, paddings, dilations])?.result().to_vec())
}

/// Collects the samples of windows whose elements are shifted by the offsets `y, x`, and multiplied by the
/// mask if present: `[batch, channels * kernel height * kernel width, rows * columns]`.
///
/// The offsets determine the number of groups that the channels are divided into.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], [`Error::Attribute`] for a window without elements, and
/// [`Error::Type`] unless the tensors are floating-point.
pub fn deformable_columns(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    offset: &View<'_>,
    mask: Option<&View<'_>>,
    with: &DeformableColumnsAttributes<'_>,
) -> Result<()> {
    let DeformableColumnsAttributes { kernel, strides, paddings, dilations } = *with;
    let windows = Windows::of(x, offset, mask, kernel, [strides, paddings, dilations])?;
    expect_shape(&windows.result(), out.dims())?;
    with_float!(x.dtype(), T => {
        let inputs = [Some(x), Some(offset), mask];
        with_optional_slices::<T, 1, 3>([Some(out.reborrow())], inputs, |[out], [x, offset, mask]| {
            let (out, x) = (out.unwrap_or_default(), x.unwrap_or_default());
            out.fill(0.0);
            windows.each_sample(offset.unwrap_or_default(), |sample, taps| {
                let factor = mask.map_or(1.0, |mask| mask[sample.mask]);
                for (image, column) in windows.channels(&sample) {
                    let pixels = &x[image * windows.pixels()..];
                    out[column] = taps.iter().fold(0.0, |sum, tap| sum + pixels[tap.pixel] * tap.weight) * factor;
                }
            });
            Ok(())
        })
    })
}

/// Computes the gradients of [`deformable_columns`].
///
/// # Errors
/// As [`deformable_columns`], and [`Error::Missing`] if the gradient of an absent mask is requested.
pub fn deformable_columns_grad(
    dx: &mut ViewMut<'_>,
    doffset: &mut ViewMut<'_>,
    dmask: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    offset: &View<'_>,
    mask: Option<&View<'_>>,
    dout: &View<'_>,
    with: &DeformableColumnsAttributes<'_>,
) -> Result<()> {
    let DeformableColumnsAttributes { kernel, strides, paddings, dilations } = *with;
    let windows = Windows::of(x, offset, mask, kernel, [strides, paddings, dilations])?;
    expect_shape(&windows.result(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(offset.dims(), doffset.dims())?;
    if let Some(dmask) = &dmask {
        let mask = mask.ok_or(Error::Missing { missing: "mask", because: "dmask" })?;
        expect_shape(mask.dims(), dmask.dims())?;
    }
    with_float!(x.dtype(), T => {
        let outs = [lend(Some(dx)), lend(Some(doffset)), lend(dmask)];
        let inputs = [Some(x), Some(offset), mask, Some(dout)];
        with_optional_slices::<T, 3, 4>(outs, inputs, |[dx, doffset, mut dmask], [x, offset, mask, dout]| {
            let [dx, doffset] = [dx, doffset].map(Option::unwrap_or_default);
            let [x, offset, dout] = [x, offset, dout].map(Option::unwrap_or_default);
            for gradient in [&mut *dx, &mut *doffset] {
                gradient.fill(0.0);
            }
            dmask.iter_mut().for_each(|dmask| dmask.fill(0.0));
            windows.each_sample(offset, |sample, taps| {
                let factor = mask.map_or(1.0, |mask| mask[sample.mask]);
                for (image, column) in windows.channels(&sample) {
                    let start = image * windows.pixels();
                    for tap in taps {
                        let pixel = start + tap.pixel;
                        dx[pixel] += dout[column] * factor * tap.weight;
                        let gradient = dout[column] * x[pixel];
                        if let Some(dmask) = &mut dmask {
                            dmask[sample.mask] += gradient * tap.weight;
                        }
                        for (place, slope) in sample.offsets.into_iter().zip(tap.slopes) {
                            doffset[place] += gradient * factor * slope;
                        }
                    }
                }
            });
            Ok(())
        })
    })
}

/// A sample. It has the same position in all channels of a group.
struct Sample {
    batch: usize,
    group: usize,
    /// The index of the element in the window.
    element: usize,
    /// The index of the window.
    window: usize,
    /// The indices of its two offsets.
    offsets: [usize; 2],
    mask: usize,
}

struct Windows {
    batch: usize,
    channels: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    /// The numbers of rows and columns of windows.
    count: [usize; 2],
    groups: usize,
    strides: [i64; 2],
    paddings: [i64; 2],
    dilations: [i64; 2],
}

impl Windows {
    fn of(
        x: &View<'_>,
        offset: &View<'_>,
        mask: Option<&View<'_>>,
        kernel: &[i64],
        rules: [&[i64]; 3],
    ) -> Result<Self> {
        Self::new(x.meta(), offset.meta(), mask.map(View::meta), kernel, rules)
    }

    fn new(
        x: TensorMeta<'_>,
        offset: TensorMeta<'_>,
        mask: Option<TensorMeta<'_>>,
        kernel: &[i64],
        rules: [&[i64]; 3],
    ) -> Result<Self> {
        let (&[batch, channels, height, width], &[_, offsets, rows, columns]) = (x.dims(), offset.dims())
        else {
            return Err(Error::Rank { dims: offset.dims().len().min(x.dims().len()), strides: 4 });
        };
        let pair = |list: &[i64]| -> Result<[i64; 2]> {
            expect_length("kernel", 2, list.len())?;
            Ok([list[0], list[1]])
        };
        let [strides, paddings, dilations] = rules.map(pair);
        let size = |size: i64| {
            let size = usize::try_from(size).ok().filter(|&size| size > 0);
            size.ok_or_else(|| Error::Attribute { name: "kernel", value: format!("{kernel:?}") })
        };
        let [kernel_height, kernel_width] = pair(kernel)?;
        let kernel = [size(kernel_height)?, size(kernel_width)?];
        kernel[0].checked_mul(kernel[1]).and_then(|count| count.checked_mul(2)).ok_or(Error::Overflow)?;
        let groups = offsets / (2 * kernel[0] * kernel[1]);
        expect_shape(&[batch, groups * 2 * kernel[0] * kernel[1], rows, columns], offset.dims())?;
        if let Some(mask) = mask {
            expect_shape(&[batch, groups * kernel[0] * kernel[1], rows, columns], mask.dims())?;
        }
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(Error::Shape { expected: vec![batch, channels], actual: offset.dims().to_vec() });
        }
        let (image, count) = ([height, width], [rows, columns]);
        let (strides, paddings, dilations) = (strides?, paddings?, dilations?);
        Ok(Self { batch, channels, image, kernel, count, groups, strides, paddings, dilations })
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    fn elements(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    fn windows(&self) -> usize {
        self.count[0] * self.count[1]
    }

    fn result(&self) -> [usize; 3] {
        [self.batch, self.channels * self.elements(), self.windows()]
    }

    /// Returns, for each channel that contains the sample, its image and the index of the sample in the
    /// columns.
    fn channels(&self, sample: &Sample) -> impl Iterator<Item = (usize, usize)> {
        let of_group = self.channels / self.groups;
        let first = sample.batch * self.channels + sample.group * of_group;
        let (elements, windows) = (self.elements(), self.windows());
        let (element, window) = (sample.element, sample.window);
        (first..first + of_group).map(move |image| (image, (image * elements + element) * windows + window))
    }

    /// Calls a function for each sample, with the pixels that it depends on.
    fn each_sample<T: Float>(&self, offset: &[T], mut visit: impl FnMut(Sample, &[Tap<T>])) {
        for set in 0..self.batch * self.groups * self.elements() {
            let (element, group) = (set % self.elements(), set / self.elements() % self.groups);
            for window in 0..self.windows() {
                let index = (set * 2) * self.windows() + window;
                let offsets = [index, index + self.windows()];
                let place = [
                    (window / self.count[1], element / self.kernel[1]),
                    (window % self.count[1], element % self.kernel[1]),
                ];
                let [y, x] = std::array::from_fn(|n| {
                    let (window, element) = (place[n].0 as f64, place[n].1 as f64);
                    let [stride, padding, dilation] =
                        [self.strides, self.paddings, self.dilations].map(|numbers| numbers[n] as f64);
                    T::of(window * stride - padding + element * dilation) + offset[offsets[n]]
                });
                let batch = set / self.elements() / self.groups;
                let mask = set * self.windows() + window;
                visit(Sample { batch, group, element, window, offsets, mask }, &taps(y, x, self.image));
            }
        }
    }
}
