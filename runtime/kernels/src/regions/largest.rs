//! RoI Align with the largest sample of each cell instead of their mean.

use super::{Cells, Samples};
use crate::attributes::MaxRoiAlignAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, floats};
use crate::loops::taps::clamped_taps;
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the outputs of [`max_roi_align`].
///
/// # Errors
/// As [`max_roi_align`].
pub fn max_roi_align_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    with: &MaxRoiAlignAttributes,
) -> Result<Vec<usize>> {
    let MaxRoiAlignAttributes { pooled_height, pooled_width, spatial_scale, .. } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    Ok(cells.result(Cells::regions(boxes.dims(), COLUMNS)?).to_vec())
}

/// Finds the largest sample in each cell of each region, and its row and column in the image: `[regions, channels,
/// pooled_height, pooled_width]`.
///
/// Regions and samples are those of [`roi_align`](crate::vision::roi_align). Of equal samples, the first is found. A
/// cell without samples, or with all of them far from the image, has the result 0, and the row and the column -1.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for an image that does not exist, [`Error::Attribute`] for a
/// size that is not positive or a box that is not finite, and [`Error::Type`].
pub fn max_roi_align(
    out: &mut ViewMut<'_>,
    rows: &mut ViewMut<'_>,
    columns: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    with: &MaxRoiAlignAttributes,
) -> Result<()> {
    let MaxRoiAlignAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    let shape = cells.result(Cells::regions(boxes.dims(), COLUMNS)?);
    for output in [&*out, &*rows, &*columns] {
        expect_shape(&shape, output.dims())?;
    }
    let boxes = floats(boxes)?.into_owned();
    let mut places = [vec![-1.0; out.len()], vec![-1.0; out.len()]];
    with_float!(x.dtype(), T => {
        let mut largest = vec![T::ZERO; out.len()];
        {
            let x = elements::<T>(x)?;
            each_cell(&cells, &boxes, sampling_ratio, aligned, |image, first, samples| {
                let mut is_first = true;
                for y in samples[0].places() {
                    for column in samples[1].places() {
                        let taps = clamped_taps(y, column, cells.image);
                        for channel in 0..cells.channels {
                            let pixels = &x[(image * cells.channels + channel) * cells.pixels()..];
                            let value = taps.iter().fold(T::ZERO, |sum, tap| {
                                sum + pixels[tap.pixel] * T::of(tap.weight)
                            });
                            let result = first + channel * cells.count();
                            if is_first || value > largest[result] {
                                largest[result] = value;
                                (places[0][result], places[1][result]) = (y, column);
                            }
                        }
                        is_first = false;
                    }
                }
            })?;
        }
        T::store(out, &largest)
    })?;
    f64::store(rows, &places[0])?;
    f64::store(columns, &places[1])
}

/// Computes the gradient of [`max_roi_align`] with respect to the images.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for an image that does not exist, and [`Error::Type`].
pub fn max_roi_align_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    rows: &View<'_>,
    columns: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let &[regions, _, height, width] = dout.dims() else {
        return Err(Error::Rank { dims: dout.dims().len(), strides: 4 });
    };
    let cells = Cells::new(dx.dims(), [height as i64, width as i64], 1.0)?;
    expect_shape(&[regions, COLUMNS], boxes.dims())?;
    for input in [dout, rows, columns] {
        expect_shape(&cells.result(regions), input.dims())?;
    }
    let mut gradient = vec![0.0; dx.len()];
    {
        let [boxes, rows, columns] = [floats(boxes)?, floats(rows)?, floats(columns)?];
        for (n, &upstream) in elements::<f64>(dout)?.iter().enumerate() {
            let (plane, place) = (n / cells.count(), [rows[n], columns[n]]);
            let (image, _) = cells.region(&boxes[plane / cells.channels * COLUMNS..][..COLUMNS])?;
            if place == [-1.0, -1.0] {
                continue;
            }
            let start = (image * cells.channels + plane % cells.channels) * cells.pixels();
            for tap in clamped_taps(place[0], place[1], cells.image) {
                gradient[start + tap.pixel] += upstream * tap.weight;
            }
        }
    }
    f64::store(dx, &gradient)
}

/// The number of columns of a region.
const COLUMNS: usize = 5;

/// Calls a function for each cell with its image, the index of its result for the first channel, and its samples.
fn each_cell(
    cells: &Cells,
    boxes: &[f64],
    ratio: i64,
    aligned: bool,
    mut visit: impl FnMut(usize, usize, [Samples; 2]),
) -> Result<()> {
    let offset = if aligned { 0.5 } else { 0.0 };
    for (region, row) in boxes.chunks_exact(COLUMNS).enumerate() {
        let (image, numbers) = cells.region(row)?;
        let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|n| numbers[n] * cells.scale - offset);
        let starts = [y1, x1];
        let sizes = [y2 - y1, x2 - x1].map(|size| if aligned { size } else { size.max(1.0) });
        for cell in 0..cells.count() {
            let place = [cell / cells.pooled[1], cell % cells.pooled[1]];
            let samples = [0, 1].map(|axis| {
                let size = sizes[axis] / cells.pooled[axis] as f64;
                let start = starts[axis] + size * place[axis] as f64;
                Samples::new(start, size, ratio, [-1.0, cells.image[axis] as f64])
            });
            visit(image, region * cells.channels * cells.count() + cell, samples);
        }
    }
    Ok(())
}
