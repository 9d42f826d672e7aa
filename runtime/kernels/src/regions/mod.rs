//! Features of regions of images, and of places that boxes name.
//!
//! Images are `[batch, channels, height, width]`. Samples are interpolated bilinearly by the rules of RoI
//! Align: a sample more than a pixel outside the image is zero, and one nearer to it is that of the edge.
//!
//! A result is a weighted sum of pixels, so each operator has one loop over the weights: for the results, and
//! for the gradient of the images.

mod aligned;
mod border;
mod largest;
mod precise;
mod rotated;
mod shifted;

pub use aligned::{rotated_feature_align, rotated_feature_align_grad};
pub use border::{border_align, border_align_grad, border_align_shape};
pub use largest::{max_roi_align, max_roi_align_grad, max_roi_align_shape};
pub use precise::{precise_roi_pool, precise_roi_pool_grad, precise_roi_pool_shape};
pub use rotated::{rotated_roi_align, rotated_roi_align_grad, rotated_roi_align_shape};
pub use shifted::{deformable_roi_pool, deformable_roi_pool_grad, deformable_roi_pool_shape};

use std::ops::Range;

use crate::error::{Error, Result, expect_shape};
use crate::images::{image, image_of, size};
use crate::vision::samples_between;

/// The images, and the cells that regions are divided into.
struct Cells {
    batch: usize,
    channels: usize,
    image: [usize; 2],
    /// The number of rows and columns of cells.
    pooled: [usize; 2],
    scale: f64,
}

impl Cells {
    fn new(images: &[usize], pooled: [i64; 2], scale: f64) -> Result<Self> {
        let [batch, channels, height, width] = image(images)?;
        let pooled = [size("pooled_height", pooled[0])?, size("pooled_width", pooled[1])?];
        pooled[0].checked_mul(pooled[1]).ok_or(Error::Overflow)?;
        Ok(Self { batch, channels, image: [height, width], pooled, scale })
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    fn count(&self) -> usize {
        self.pooled[0] * self.pooled[1]
    }

    fn result(&self, regions: usize) -> [usize; 4] {
        [regions, self.channels, self.pooled[0], self.pooled[1]]
    }

    /// Checks the shape of regions with a number of columns, and returns how many there are.
    fn regions(boxes: &[usize], columns: usize) -> Result<usize> {
        let regions = boxes.first().copied().unwrap_or(0);
        expect_shape(&[regions, columns], boxes)?;
        Ok(regions)
    }

    /// Returns the image of a region and its numbers, which must be finite.
    fn region<'b>(&self, region: &'b [f64]) -> Result<(usize, &'b [f64])> {
        let (&index, numbers) = region.split_first().ok_or(Error::Empty)?;
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(Error::Attribute { name: "boxes", value: number.to_string() });
        }
        Ok((image_of(index, self.batch)?, numbers))
    }
}

/// The samples of a cell in one direction.
struct Samples {
    start: f64,
    step: f64,
    /// The samples that may be inside of the image.
    seen: Range<u64>,
    /// The number of all samples.
    count: f64,
}

impl Samples {
    /// Divides a cell into `ratio` samples, or into one for each pixel of its size if the ratio is not
    /// positive. Only the samples between two places matter,
    /// and one on either side.
    fn new(start: f64, size: f64, ratio: i64, places: [f64; 2]) -> Self {
        let count = if ratio > 0 { ratio as f64 } else { size.ceil().max(0.0) };
        let seen =
            if ratio > 0 { 0..ratio.cast_unsigned() } else { samples_between(start, size, count, places) };
        Self { start, step: size / count.max(1.0), seen, count }
    }

    fn places(&self) -> impl Iterator<Item = f64> {
        self.seen.clone().map(|sample| self.start + (sample as f64 + 0.5) * self.step)
    }
}
