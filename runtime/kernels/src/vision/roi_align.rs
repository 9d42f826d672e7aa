//! RoI Align: the mean of interpolated samples in each cell of a region (He et al., "Mask R-CNN", 2017).
//!
//! The samples of a cell lie on a grid, and the weights of a sample are products of weights of rows and
//! columns. Therefore the sums of the weights over all samples are such products, too: a cell is a list of
//! rows and a list of columns with weights.

use crate::attributes::RoiAlignAttributes;
use std::ops::Range;

use smallvec::SmallVec;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::tensor::{View, ViewMut};

/// Computes the mean of the samples in each cell of each region, `[regions, channels, pooled_height,
/// pooled_width]`.
///
/// A region is a row of `boxes`: the index of its image and the corners `x1, y1, x2, y2`, or only the corners
/// if `boxes_num` holds the number of rows of each image. Corners are multiplied by `spatial_scale` and, if
/// `aligned`, reduced by half a pixel; otherwise a region is at least one pixel wide and high. A cell has
/// `sampling_ratio` samples in each direction. If the ratio is not positive, it has one for each pixel of its
/// size, rounded up. A sample more than one pixel outside the image is zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] if `boxes_num` does not cover all rows,
/// [`Error::Index`] for an
/// image that does not exist, [`Error::Attribute`] for a size that is not positive or a corner that is not finite, and
/// [`Error::Type`].
pub fn roi_align(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    boxes_num: Option<&View<'_>>,
    with: &RoiAlignAttributes,
) -> Result<()> {
    let RoiAlignAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned } = *with;
    let rules = Rules::new(x.dims(), [pooled_height, pooled_width], spatial_scale, sampling_ratio, aligned)?;
    let images = rules.images(boxes, boxes_num)?;
    expect_shape(&rules.result(images.len()), out.dims())?;
    let columns = boxes.dims()[1];
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, boxes], |[out], [x, boxes]| {
            rules.each_cell(&images, boxes, columns, |channel, cell, rows, columns| {
                let image = &x[channel * rules.height * rules.width..];
                let mut sum = T::ZERO;
                for &(row, weight) in rows {
                    let line = &image[row * rules.width..];
                    let of_row = columns.iter().fold(T::ZERO, |sum, &(at, weight)| sum + line[at] * weight);
                    sum += of_row * weight;
                }
                out[cell] = sum;
            })
        })
    })
}

/// Computes the gradient of [`roi_align`] with respect to the images.
///
/// # Errors
/// As [`roi_align`].
pub fn roi_align_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    boxes_num: Option<&View<'_>>,
    dout: &View<'_>,
    with: &RoiAlignAttributes,
) -> Result<()> {
    let RoiAlignAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned } = *with;
    let rules = Rules::new(dx.dims(), [pooled_height, pooled_width], spatial_scale, sampling_ratio, aligned)?;
    let images = rules.images(boxes, boxes_num)?;
    expect_shape(&rules.result(images.len()), dout.dims())?;
    let columns = boxes.dims()[1];
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 2>([dx.reborrow()], [boxes, dout], |[dx], [boxes, dout]| {
            dx.fill(T::ZERO);
            rules.each_cell(&images, boxes, columns, |channel, cell, rows, columns| {
                let image = &mut dx[channel * rules.height * rules.width..];
                for &(row, weight) in rows {
                    let line = &mut image[row * rules.width..];
                    let gradient = dout[cell] * weight;
                    columns.iter().for_each(|&(at, weight)| line[at] += gradient * weight);
                }
            })
        })
    })
}

/// Rows or columns of an image, with their weights.
type Weights<T> = SmallVec<[(usize, T); 8]>;

struct Rules {
    batch: usize,
    channels: usize,
    height: usize,
    width: usize,
    pooled: [usize; 2],
    scale: f64,
    ratio: i64,
    aligned: bool,
}

impl Rules {
    fn new(images: &[usize], pooled: [i64; 2], scale: f64, ratio: i64, aligned: bool) -> Result<Self> {
        let &[batch, channels, height, width] = images else {
            return Err(Error::Rank { dims: images.len(), strides: 4 });
        };
        let size = |name, value: i64| {
            let size = usize::try_from(value).ok().filter(|&size| size > 0);
            size.ok_or_else(|| Error::Attribute { name, value: value.to_string() })
        };
        let pooled = [size("pooled_height", pooled[0])?, size("pooled_width", pooled[1])?];
        Ok(Self { batch, channels, height, width, pooled, scale, ratio, aligned })
    }

    fn result(&self, regions: usize) -> [usize; 4] {
        [regions, self.channels, self.pooled[0], self.pooled[1]]
    }

    /// Returns the image index of each region.
    fn images(&self, boxes: &View<'_>, boxes_num: Option<&View<'_>>) -> Result<Vec<usize>> {
        let columns = if boxes_num.is_some() { 4 } else { 5 };
        let regions = boxes.dims().first().copied().unwrap_or(0);
        expect_shape(&[regions, columns], boxes.dims())?;
        let image = |index: i64| {
            let image = usize::try_from(index).ok().filter(|&image| image < self.batch);
            image.ok_or(Error::Index { index, len: self.batch })
        };
        let Some(counts) = boxes_num else {
            let mut indices = vec![];
            for row in 0..regions {
                let index = crate::loops::slices::scalar("boxes", &boxes.part(row)?.part(0)?)?;
                indices.push(image(if index.fract() == 0.0 { index as i64 } else { -1 })?);
            }
            return Ok(indices);
        };
        images_of_counts(counts, self.batch, regions)
    }

    /// Calls a function for each cell of each channel with the number of the channel among those of all
    /// images, the number of the cell among those of all regions, and the rows and columns that the cell
    /// reads.
    fn each_cell<T: Float>(
        &self,
        images: &[usize],
        boxes: &[T],
        columns: usize,
        mut visit: impl FnMut(usize, usize, &Weights<T>, &Weights<T>),
    ) -> Result<()> {
        let mut cell = 0;
        for (&image, region) in images.iter().zip(boxes.chunks_exact(columns)) {
            let &[.., x1, y1, x2, y2] = region else { continue };
            let rows = self.cells(y1, y2, self.pooled[0], self.height)?;
            let columns = self.cells(x1, x2, self.pooled[1], self.width)?;
            for channel in 0..self.channels {
                for rows in &rows {
                    for columns in &columns {
                        visit(image * self.channels + channel, cell, rows, columns);
                        cell += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the elements that the cells of a region read in one direction, with weights. Inside the image,
    /// the weights of a cell sum to 1.
    fn cells<T: Float>(&self, from: T, to: T, cells: usize, len: usize) -> Result<Vec<Weights<T>>> {
        let offset = if self.aligned { T::of(0.5) } else { T::ZERO };
        let [start, end] = [from, to].map(|corner| corner * T::of(self.scale) - offset);
        let size = if self.aligned { end - start } else { (end - start).max(T::ONE) };
        if !start.is_finite() || !size.is_finite() {
            return Err(Error::Attribute { name: "boxes", value: format!("{:?}", [from.into(), to.into()]) });
        }
        let cell_size = size / T::of(cells as f64);
        let samples = if self.ratio > 0 { self.ratio as f64 } else { cell_size.into().ceil().max(0.0) };
        let weight = T::ONE / T::of(samples.max(1.0));
        let mut found = Vec::with_capacity(cells);
        for cell in 0..cells {
            let start = start + T::of(cell as f64) * cell_size;
            let mut weights = Weights::new();
            for sample in self.seen(start.into(), cell_size.into(), samples, len) {
                let at = start + T::of(sample as f64 + 0.5) * cell_size / T::of(samples);
                if at < -T::ONE || at > T::of(len as f64) {
                    continue;
                }
                let at = at.max(T::ZERO);
                let low = (at.into() as usize).min(len - 1);
                let part = if low == len - 1 { T::ZERO } else { at - T::of(low as f64) };
                add(&mut weights, low, weight * (T::ONE - part));
                if part > T::ZERO {
                    add(&mut weights, low + 1, weight * part);
                }
            }
            found.push(weights);
        }
        Ok(found)
    }

    /// Returns the range of samples of a cell that may lie in the image, so that the run time does not depend
    /// on the size of a region.
    fn seen(&self, start: f64, size: f64, samples: f64, len: usize) -> Range<u64> {
        if len == 0 {
            return 0..0;
        }
        if self.ratio > 0 {
            return 0..self.ratio.cast_unsigned();
        }
        samples_between(start, size, samples, [-1.0, len as f64])
    }
}

/// Returns the image index of each region from the number of regions of each image.
pub(crate) fn images_of_counts(counts: &View<'_>, batch: usize, regions: usize) -> Result<Vec<usize>> {
    expect_shape(&[batch], counts.dims())?;
    let mut images = Vec::with_capacity(regions);
    for (image, count) in integers(counts)?.into_iter().enumerate() {
        let count = usize::try_from(count).ok().filter(|count| images.len() + count <= regions);
        let count = count.ok_or(Error::Length {
            what: "boxes",
            expected: images.len() + count.unwrap_or(0),
            actual: regions,
        })?;
        images.resize(images.len() + count, image);
    }
    crate::expect_length("boxes", images.len(), regions)?;
    Ok(images)
}

/// Returns the samples of a cell that may lie between two coordinates, so that the run time does not depend on
/// the size of the cell.
pub(crate) fn samples_between(start: f64, size: f64, samples: f64, [low, high]: [f64; 2]) -> Range<u64> {
    let sample = |at: f64| (at - start) / size * samples;
    // One extra sample on either side, for rounding.
    (sample(low).floor() - 1.0).clamp(0.0, samples) as u64
        ..(sample(high).ceil() + 1.0).clamp(0.0, samples) as u64
}

fn add<T: Float>(weights: &mut Weights<T>, at: usize, weight: T) {
    match weights.iter_mut().rev().find(|(known, _)| *known == at) {
        Some((_, sum)) => *sum += weight,
        None => weights.push((at, weight)),
    }
}
