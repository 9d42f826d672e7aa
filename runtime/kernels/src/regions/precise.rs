//! Precise RoI pooling: the mean of an interpolated image over each cell (Jiang et al., "IoU-Net", 2018).
//!
//! The mean is an integral divided by an area. The integral of a bilinear interpolation is a sum of pixels,
//! whose weights are products of weights of rows and columns.

use super::Cells;
use crate::attributes::PreciseRoiPoolAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{Slot, elements, floats, lend, with_slices};
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`precise_roi_pool`].
///
/// # Errors
/// As [`precise_roi_pool`].
pub fn precise_roi_pool_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    with: &PreciseRoiPoolAttributes,
) -> Result<Vec<usize>> {
    let PreciseRoiPoolAttributes { pooled_height, pooled_width, spatial_scale } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    Ok(cells.result(Cells::regions(boxes.dims(), COLUMNS)?).to_vec())
}

/// Computes the mean of the interpolated image over each cell of each region, `[regions, channels, pooled_height,
/// pooled_width]`.
///
/// A region is a row of `boxes`: the index of its image and its corners, which are multiplied by `spatial_scale`.
/// Pixels outside the image are zero, and so is the mean of a region without an area.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape),
/// [`Error::Index`](crate::Error::Index) for an image that does not exist,
/// [`Error::Attribute`](crate::Error::Attribute) for a size that is not positive or a box that is not finite, and
/// [`Error::Type`](crate::Error::Type).
pub fn precise_roi_pool(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    with: &PreciseRoiPoolAttributes,
) -> Result<()> {
    let PreciseRoiPoolAttributes { pooled_height, pooled_width, spatial_scale } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    expect_shape(&cells.result(Cells::regions(boxes.dims(), COLUMNS)?), out.dims())?;
    let boxes = floats(boxes)?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(T::ZERO);
            each(&cells, &boxes, |cell| {
                cell.each_pixel(&cells, |result, pixel, [row, column]| {
                    out[result] += x[pixel] * T::of(row.mean * column.mean);
                });
            })
        })
    })
}

/// Computes the gradients of [`precise_roi_pool`]. That of the index of an image is 0.
///
/// # Errors
/// As [`precise_roi_pool`].
pub fn precise_roi_pool_grad(
    dx: Option<&mut ViewMut<'_>>,
    dboxes: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    boxes: &View<'_>,
    dout: &View<'_>,
    with: &PreciseRoiPoolAttributes,
) -> Result<()> {
    let PreciseRoiPoolAttributes { pooled_height, pooled_width, spatial_scale } = *with;
    let cells = Cells::new(x.dims(), [pooled_height, pooled_width], spatial_scale)?;
    let regions = Cells::regions(boxes.dims(), COLUMNS)?;
    expect_shape(&cells.result(regions), dout.dims())?;
    let (dx, dboxes) = (lend(dx), lend(dboxes));
    for (gradient, of) in [(&dx, x), (&dboxes, boxes)] {
        if let Some(gradient) = gradient {
            expect_shape(of.dims(), gradient.dims())?;
        }
    }
    let mut of_boxes = vec![0.0; regions * COLUMNS];
    let mut of_x = vec![0.0; x.len()];
    {
        let [x, boxes, dout] = [elements::<f64>(x)?, floats(boxes)?, elements::<f64>(dout)?];
        each(&cells, &boxes, |cell| {
            let slopes = &mut of_boxes[cell.region * COLUMNS..][..COLUMNS];
            cell.each_pixel(&cells, |result, pixel, [row, column]| {
                let upstream = dout[result];
                of_x[pixel] += upstream * row.mean * column.mean;
                let gradient = upstream * x[pixel] * cells.scale;
                for corner in 0..2 {
                    slopes[1 + 2 * corner] += gradient * row.mean * column.slopes[corner];
                    slopes[2 + 2 * corner] += gradient * row.slopes[corner] * column.mean;
                }
            });
        })?;
    }
    for (gradient, values) in [(dx, of_x), (dboxes, of_boxes)] {
        if let Some(mut gradient) = gradient {
            f64::store(&mut gradient, &values)?;
        }
    }
    Ok(())
}

/// The number of columns of a region.
const COLUMNS: usize = 5;

/// A row or a column of an image that a cell overlaps.
#[derive(Clone, Copy)]
struct Line {
    index: usize,
    /// Its share in the mean over the cell.
    mean: f64,
    /// The derivatives of the share by the coordinates of both corners of the region.
    slopes: [f64; 2],
}

/// A cell of a region.
struct Cell<'l> {
    region: usize,
    image: usize,
    number: usize,
    rows: &'l [Line],
    columns: &'l [Line],
}

impl Cell<'_> {
    /// Calls a function with the index of a result, the index of a pixel, and its row and column.
    fn each_pixel(&self, cells: &Cells, mut visit: impl FnMut(usize, usize, [Line; 2])) {
        for channel in 0..cells.channels {
            let result = (self.region * cells.channels + channel) * cells.count() + self.number;
            let start = (self.image * cells.channels + channel) * cells.pixels();
            for &row in self.rows {
                for &column in self.columns {
                    visit(result, start + row.index * cells.image[1] + column.index, [row, column]);
                }
            }
        }
    }
}

fn each(cells: &Cells, boxes: &[f64], mut visit: impl FnMut(Cell<'_>)) -> Result<()> {
    for (region, row) in boxes.chunks_exact(COLUMNS).enumerate() {
        let (image, numbers) = cells.region(row)?;
        let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|n| numbers[n] * cells.scale);
        if x2 <= x1 || y2 <= y1 {
            continue;
        }
        let rows = lines([y1, y2], cells.pooled[0], cells.image[0]);
        let columns = lines([x1, x2], cells.pooled[1], cells.image[1]);
        for number in 0..cells.count() {
            let (rows, columns) = (&rows[number / cells.pooled[1]], &columns[number % cells.pooled[1]]);
            visit(Cell { region, image, number, rows, columns });
        }
    }
    Ok(())
}

/// Returns the rows or the columns that each cell between two corners overlaps.
fn lines([start, end]: [f64; 2], count: usize, len: usize) -> Vec<Vec<Line>> {
    let size = (end - start) / count as f64;
    let cell = |number: usize| {
        // A border of a cell is a mean of the corners.
        let parts = [number, number + 1].map(|border| border as f64 / count as f64);
        let borders = parts.map(|part| start + part * (end - start));
        let first = (borders[0] - 1.0).ceil().clamp(0.0, len as f64) as usize;
        let last = ((borders[1] + 1.0).floor() + 1.0).clamp(0.0, len as f64) as usize;
        let line = |index: usize| {
            let [from, to] = borders.map(|border| border - index as f64);
            let mean = (integral(to) - integral(from)) / size;
            // The integral changes at its borders, and the divisor with the distance of the corners.
            let slope = |[of_from, of_to]: [f64; 2], of_size: f64| {
                (hat(to) * of_to - hat(from) * of_from - mean * of_size / count as f64) / size
            };
            Line { index, mean, slopes: [slope(parts.map(|part| 1.0 - part), -1.0), slope(parts, 1.0)] }
        };
        (first..last).map(line).collect()
    };
    (0..count).map(cell).collect()
}

/// The weight of a pixel at a distance.
fn hat(distance: f64) -> f64 {
    (1.0 - distance.abs()).max(0.0)
}

/// The integral of [`hat`] up to a distance.
fn integral(distance: f64) -> f64 {
    let distance = distance.clamp(-1.0, 1.0);
    let outside = 1.0 - distance.abs();
    let part = outside * outside / 2.0;
    if distance < 0.0 { part } else { 1.0 - part }
}
