//! Deformable RoI pooling (Dai et al., "Deformable Convolutional Networks", 2017).

use super::{Cells, Samples};
use crate::attributes::DeformableRoiPoolAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{Slot, elements, floats, with_slices};
use crate::loops::taps::{Taps, clamped_taps};
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`deformable_roi_pool`].
///
/// # Errors
/// As [`deformable_roi_pool`].
pub fn deformable_roi_pool_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    _offset: Option<TensorMeta<'_>>,
    with: &DeformableRoiPoolAttributes,
) -> Result<Vec<usize>> {
    let DeformableRoiPoolAttributes { pooled_height, pooled_width, spatial_scale, .. } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    Ok(cells.result(Cells::regions(boxes.dims(), COLUMNS)?).to_vec())
}

/// Computes the mean of the samples in each cell of each region, `[regions, channels, pooled_height,
/// pooled_width]`. Cells are shifted by the offsets.
///
/// A region is a row of `boxes`: the index of its image and its corners. Samples are those of
/// [`roi_align`](crate::vision::roi_align) with `aligned`. Offsets are `[regions, 2, pooled_height, pooled_width]`,
/// first `x`, in units of `gamma` times the size of the region.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape),
/// [`Error::Index`](crate::Error::Index) for an image that does not exist,
/// [`Error::Attribute`](crate::Error::Attribute) for a size that is not positive or a box that is not finite, and
/// [`Error::Type`](crate::Error::Type).
pub fn deformable_roi_pool(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    offset: Option<&View<'_>>,
    with: &DeformableRoiPoolAttributes,
) -> Result<()> {
    let DeformableRoiPoolAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma } =
        *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    let rules = Rules::new(cells, boxes, offset, sampling_ratio, gamma)?;
    expect_shape(&rules.result(), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(T::ZERO);
            rules.each(|sample| {
                for (result, start) in rules.channels(&sample) {
                    for tap in &sample.taps {
                        out[result] += x[start + tap.pixel] * T::of(tap.weight * sample.mean);
                    }
                }
            })
        })
    })
}

/// Computes the gradients of [`deformable_roi_pool`].
///
/// # Errors
/// As [`deformable_roi_pool`].
pub fn deformable_roi_pool_grad(
    dx: &mut ViewMut<'_>,
    doffset: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    boxes: &View<'_>,
    offset: Option<&View<'_>>,
    dout: &View<'_>,
    with: &DeformableRoiPoolAttributes,
) -> Result<()> {
    let DeformableRoiPoolAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma } =
        *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    let rules = Rules::new(cells, boxes, offset, sampling_ratio, gamma)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let mut of_offset = vec![0.0; rules.regions * 2 * rules.cells.count()];
    if let Some(doffset) = &doffset {
        expect_shape(&rules.offsets(), doffset.dims())?;
    }
    let (pixels, upstream) = (elements::<f64>(x)?, elements::<f64>(dout)?);
    with_float!(x.dtype(), T => {
        let mut of_x = vec![T::ZERO; x.len()];
        rules.each(|sample| {
            for (result, start) in rules.channels(&sample) {
                for tap in &sample.taps {
                    let gradient = upstream[result] * sample.mean;
                    of_x[start + tap.pixel] += T::of(gradient * tap.weight);
                    for (n, place) in sample.offsets.into_iter().enumerate() {
                        // Slopes are by row and column, offsets are first by column.
                        let slope = tap.slopes[1 - n] * sample.units[n];
                        of_offset[place] += gradient * pixels[start + tap.pixel] * slope;
                    }
                }
            }
        })?;
        drop((pixels, upstream));
        T::store(dx, &of_x)?;
        doffset.map_or(Ok(()), |doffset| f64::store(doffset, &of_offset))
    })
}

/// The number of columns of a region.
const COLUMNS: usize = 5;

/// A sample. It has the same place in all channels.
struct Sample {
    region: usize,
    cell: usize,
    image: usize,
    /// The share of the sample in its cell.
    mean: f64,
    /// The indices of the offsets of its cell, `x, y`.
    offsets: [usize; 2],
    /// The pixels that an offset of 1 is.
    units: [f64; 2],
    taps: Taps<f64>,
}

struct Rules {
    cells: Cells,
    regions: usize,
    boxes: Vec<f64>,
    offset: Option<Vec<f64>>,
    ratio: i64,
    gamma: f64,
}

impl Rules {
    fn new(
        cells: Cells,
        boxes: &View<'_>,
        offset: Option<&View<'_>>,
        ratio: i64,
        gamma: f64,
    ) -> Result<Self> {
        let regions = Cells::regions(boxes.dims(), COLUMNS)?;
        let mut rules =
            Self { cells, regions, boxes: floats(boxes)?.into_owned(), offset: None, ratio, gamma };
        if let Some(offset) = offset {
            expect_shape(&rules.offsets(), offset.dims())?;
            rules.offset = Some(floats(offset)?.into_owned());
        }
        Ok(rules)
    }

    fn result(&self) -> [usize; 4] {
        self.cells.result(self.regions)
    }

    fn offsets(&self) -> [usize; 4] {
        [self.regions, 2, self.cells.pooled[0], self.cells.pooled[1]]
    }

    /// Returns, for each channel, the index of the result of a sample, and of the first pixel.
    fn channels(&self, sample: &Sample) -> impl Iterator<Item = (usize, usize)> {
        let (channels, count, pixels) = (self.cells.channels, self.cells.count(), self.cells.pixels());
        let (first, cell, image) = (sample.region * channels, sample.cell, sample.image * channels);
        (0..channels).map(move |channel| ((first + channel) * count + cell, (image + channel) * pixels))
    }

    fn each(&self, mut visit: impl FnMut(Sample)) -> Result<()> {
        let (cells, count) = (&self.cells, self.cells.count());
        for (region, row) in self.boxes.chunks_exact(COLUMNS).enumerate() {
            let (image, numbers) = cells.region(row)?;
            let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|n| numbers[n] * cells.scale - 0.5);
            let units = [x2 - x1, y2 - y1].map(|size| size * self.gamma);
            for cell in 0..count {
                let offsets = [0, 1].map(|axis| (region * 2 + axis) * count + cell);
                let moved = |axis: usize| {
                    self.offset.as_ref().map_or(0.0, |offset| offset[offsets[axis]] * units[axis])
                };
                let samples = |axis: usize, from: f64, to: f64, index: usize| {
                    let size = (to - from) / cells.pooled[axis] as f64;
                    let start = from + size * index as f64 + moved(1 - axis);
                    Samples::new(start, size, self.ratio, [-1.0, cells.image[axis] as f64])
                };
                let rows = samples(0, y1, y2, cell / cells.pooled[1]);
                let columns = samples(1, x1, x2, cell % cells.pooled[1]);
                let mean = 1.0 / (rows.count * columns.count).max(1.0);
                for y in rows.places() {
                    for x in columns.places() {
                        let taps = clamped_taps(y, x, cells.image);
                        visit(Sample { region, cell, image, mean, offsets, units, taps });
                    }
                }
            }
        }
        Ok(())
    }
}
