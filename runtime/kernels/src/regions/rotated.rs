//! RoI Align of rotated regions (Ding et al., "RoI Transformer", 2019), and of features with an orientation
//! (Han et al., "ReDet", 2021).

use super::{Cells, Samples};
use crate::attributes::RotatedRoiAlignAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::images::size;
use crate::loops::slices::{floats, with_slices};
use crate::loops::taps::clamped_taps;
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`rotated_roi_align`].
///
/// # Errors
/// As [`rotated_roi_align`].
pub fn rotated_roi_align_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    with: &RotatedRoiAlignAttributes,
) -> Result<Vec<usize>> {
    let RotatedRoiAlignAttributes { pooled_height, pooled_width, spatial_scale, .. } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    Ok(cells.result(Cells::regions(boxes.dims(), COLUMNS)?).to_vec())
}

/// Computes the mean of the samples in each cell of each rotated region, `[regions, channels, pooled_height,
/// pooled_width]`.
///
/// A region is a row of `boxes`: the index of its image, its centre `x, y`, its width and height, and its angle.
/// Sizes and samples are those of [`roi_align`](crate::vision::roi_align). Each group of `orientations` channels
/// is shifted by the angle of the region, with linear interpolation between two channels.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for an image that does not exist, [`Error::Attribute`] for a
/// size that is not positive, a box that is not finite, or channels that are no groups, and [`Error::Type`].
pub fn rotated_roi_align(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    with: &RotatedRoiAlignAttributes,
) -> Result<()> {
    let RotatedRoiAlignAttributes {
        pooled_height,
        pooled_width,
        spatial_scale,
        sampling_ratio,
        aligned,
        clockwise,
        orientations,
    } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    expect_shape(&cells.result(Cells::regions(boxes.dims(), COLUMNS)?), out.dims())?;
    let rules = Rules::new(cells, sampling_ratio, aligned, clockwise, orientations)?;
    let boxes = floats(boxes)?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(T::ZERO);
            rules.each(&boxes, |result, pixel, weight| out[result] += x[pixel] * T::of(weight))
        })
    })
}

/// Computes the gradient of [`rotated_roi_align`] with respect to the images.
///
/// # Errors
/// As [`rotated_roi_align`].
pub fn rotated_roi_align_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    dout: &View<'_>,
    with: &RotatedRoiAlignAttributes,
) -> Result<()> {
    let RotatedRoiAlignAttributes {
        pooled_height,
        pooled_width,
        spatial_scale,
        sampling_ratio,
        aligned,
        clockwise,
        orientations,
    } = *with;
    let cells = Cells::new(dx.dims(), [pooled_height, pooled_width], spatial_scale)?;
    expect_shape(&cells.result(Cells::regions(boxes.dims(), COLUMNS)?), dout.dims())?;
    let rules = Rules::new(cells, sampling_ratio, aligned, clockwise, orientations)?;
    let boxes = floats(boxes)?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(T::ZERO);
            rules.each(&boxes, |result, pixel, weight| dx[pixel] += dout[result] * T::of(weight))
        })
    })
}

/// The number of columns of a region.
const COLUMNS: usize = 6;

struct Rules {
    cells: Cells,
    ratio: i64,
    aligned: bool,
    clockwise: bool,
    orientations: usize,
}

impl Rules {
    fn new(cells: Cells, ratio: i64, aligned: bool, clockwise: bool, orientations: i64) -> Result<Self> {
        let orientations = size("orientations", orientations)?;
        if !cells.channels.is_multiple_of(orientations) {
            return Err(Error::Attribute { name: "orientations", value: orientations.to_string() });
        }
        Ok(Self { cells, ratio, aligned, clockwise, orientations })
    }

    /// Calls a function with the index of a result, the index of a pixel, and the weight that it has.
    fn each(&self, boxes: &[f64], mut visit: impl FnMut(usize, usize, f64)) -> Result<()> {
        let (cells, count) = (&self.cells, self.cells.count());
        for (n, region) in boxes.chunks_exact(COLUMNS).enumerate() {
            let (image, numbers) = cells.region(region)?;
            let &[x, y, width, height, angle] = numbers else { continue };
            let channels = self.channels(angle);
            let frame = Frame::new(self, [y, x], [height, width], angle);
            for cell in 0..count {
                let [rows, columns] = frame.samples(cell);
                let mean = 1.0 / (rows.count * columns.count).max(1.0);
                for across in rows.places() {
                    for along in columns.places() {
                        let [y, x] = frame.place(across, along);
                        for tap in clamped_taps(y, x, cells.image) {
                            for &(to, from, part) in &channels {
                                let result = (n * cells.channels + to) * count + cell;
                                let pixel = (image * cells.channels + from) * cells.pixels() + tap.pixel;
                                visit(result, pixel, tap.weight * mean * part);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns, for each channel, those that it is a mean of, with their weights.
    fn channels(&self, angle: f64) -> Vec<(usize, usize, f64)> {
        let orientations = self.orientations;
        if orientations == 1 {
            return (0..self.cells.channels).map(|channel| (channel, channel, 1.0)).collect();
        }
        let turns = angle * orientations as f64 / std::f64::consts::TAU;
        let part = turns - turns.floor();
        let shift = turns.floor().rem_euclid(orientations as f64) as usize;
        let mut found = Vec::with_capacity(2 * self.cells.channels);
        for channel in 0..self.cells.channels {
            let (group, own) = (channel / orientations * orientations, channel % orientations);
            let first = (own + orientations - shift) % orientations;
            found.push((channel, group + first, 1.0 - part));
            found.push((channel, group + (first + 1) % orientations, part));
        }
        found
    }
}

/// A rotated region, in pixels.
struct Frame<'r> {
    rules: &'r Rules,
    center: [f64; 2],
    size: [f64; 2],
    cos: f64,
    sin: f64,
    /// The distance from the centre at which no sample is inside of the image.
    reach: f64,
}

impl<'r> Frame<'r> {
    fn new(rules: &'r Rules, center: [f64; 2], size: [f64; 2], angle: f64) -> Self {
        let (scale, image) = (rules.cells.scale, rules.cells.image);
        let offset = if rules.aligned { 0.5 } else { 0.0 };
        let center = center.map(|place| place * scale - offset);
        let size = size.map(|size| if rules.aligned { size * scale } else { (size * scale).max(1.0) });
        let (sin, cos) = if rules.clockwise { -angle } else { angle }.sin_cos();
        let farthest =
            |axis: usize| (center[axis] + 1.0).abs().max((image[axis] as f64 - center[axis]).abs());
        Self { rules, center, size, cos, sin, reach: farthest(0).hypot(farthest(1)) }
    }

    /// Returns the rows and the columns of the samples of a cell, relative to the centre.
    fn samples(&self, cell: usize) -> [Samples; 2] {
        let pooled = self.rules.cells.pooled;
        [(0, cell / pooled[1]), (1, cell % pooled[1])].map(|(axis, index)| {
            let size = self.size[axis] / pooled[axis] as f64;
            let start = size * index as f64 - self.size[axis] / 2.0;
            Samples::new(start, size, self.rules.ratio, [-self.reach, self.reach])
        })
    }

    /// Returns the place of a sample in the image.
    fn place(&self, across: f64, along: f64) -> [f64; 2] {
        [
            across * self.cos - along * self.sin + self.center[0],
            across * self.sin + along * self.cos + self.center[1],
        ]
    }
}
