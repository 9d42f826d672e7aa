//! Pools of the cells of regions.

use crate::attributes::{PsroiPoolAttributes, RoiMaxPoolAttributes};
use std::ops::Range;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::images::{image, size, top};
use crate::loops::slices::{Slot, elements, floats, integers, store_integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};
use crate::vision::images_of_counts;

/// Computes the shape of the outputs of [`roi_max_pool`].
///
/// # Errors
/// As [`roi_max_pool`].
pub fn roi_max_pool_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    _boxes_num: Option<TensorMeta<'_>>,
    with: &RoiMaxPoolAttributes,
) -> Result<Vec<usize>> {
    let RoiMaxPoolAttributes { pooled_height, pooled_width, .. } = *with;
    let [_, channels, ..] = image(x.dims())?;
    let pooled = [size("pooled_height", pooled_height)?, size("pooled_width", pooled_width)?];
    Ok(vec![boxes.dims().first().copied().unwrap_or(0), channels, pooled[0], pooled[1]])
}

/// Computes the largest pixel in each cell of each region, and its index in its channel. Corners are multiplied by
/// `spatial_scale` and rounded, halves away from zero. A region has at least one pixel. A cell without pixels has the
/// result 0 and the index -1.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Missing`] without the numbers of regions, [`Error::Length`] if they do
/// not cover all regions, [`Error::Attribute`] for a size that is not positive, and [`Error::Type`].
pub fn roi_max_pool(
    out: &mut ViewMut<'_>,
    arg_max: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    boxes_num: Option<&View<'_>>,
    with: &RoiMaxPoolAttributes,
) -> Result<()> {
    let RoiMaxPoolAttributes { pooled_height, pooled_width, spatial_scale } = *with;
    let meta = boxes_num.map(View::meta);
    let shape = roi_max_pool_shape(
        x.meta(),
        boxes.meta(),
        meta,
        &RoiMaxPoolAttributes { pooled_height, pooled_width, spatial_scale },
    )?;
    let [batch, channels, height, width] = image(x.dims())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(&shape, arg_max.dims())?;
    expect_shape(&[shape[0], 4], boxes.dims())?;
    let images = images_of(boxes_num, batch, shape[0])?;
    with_float!(x.dtype(), T => {
        let (mut largest, mut places) = (vec![], vec![]);
        {
            let (x, boxes) = (elements::<T>(x)?, elements::<T>(boxes)?);
            for (&[x1, y1, x2, y2], index) in boxes.as_chunks::<4>().0.iter().zip(images) {
                let scale = spatial_scale as T;
                let rows = rounded_cells([y1 * scale, y2 * scale], shape[2], height);
                let columns = rounded_cells([x1 * scale, x2 * scale], shape[3], width);
                for channel in index * channels..(index + 1) * channels {
                    let pixels = &x[channel * height * width..][..height * width];
                    for rows in &rows {
                        for columns in &columns {
                            let (pixel, place) = top(pixels, width, rows.clone(), columns.clone());
                            largest.push(pixel);
                            places.push(place);
                        }
                    }
                }
            }
        }
        T::store(out, &largest)?;
        store_integers(arg_max, &places)
    })
}

/// Computes the gradient of [`roi_max_pool`] with respect to the images.
///
/// # Errors
/// As [`roi_max_pool`], and [`Error::Index`] for a pixel that does not exist.
pub fn roi_max_pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes_num: Option<&View<'_>>,
    arg_max: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    expect_shape(x.dims(), dx.dims())?;
    let [batch, channels, height, width] = image(dx.dims())?;
    let [regions, _, pooled_height, pooled_width] = image(dout.dims())?;
    expect_shape(&[regions, channels, pooled_height, pooled_width], dout.dims())?;
    expect_shape(dout.dims(), arg_max.dims())?;
    let (cells, pixels) = (pooled_height * pooled_width, height * width);
    let images = images_of(boxes_num, batch, regions)?;
    let places = integers(arg_max)?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(0.0);
            for (n, &index) in places.iter().enumerate() {
                let start = (images[n / cells / channels] * channels + n / cells % channels) * pixels;
                match usize::try_from(index) {
                    Ok(place) if place < pixels => dx[start + place] += dout[n],
                    Ok(_) => return Err(Error::Index { index, len: pixels }),
                    // The cell has no pixels.
                    Err(_) => {}
                }
            }
            Ok(())
        })
    })
}

/// Computes the shape of the output of [`psroi_pool`].
///
/// # Errors
/// As [`psroi_pool`].
pub fn psroi_pool_shape(
    _x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    _boxes_num: Option<TensorMeta<'_>>,
    with: &PsroiPoolAttributes,
) -> Result<Vec<usize>> {
    let PsroiPoolAttributes { pooled_height, pooled_width, output_channels, .. } = *with;
    let pooled = [size("pooled_height", pooled_height)?, size("pooled_width", pooled_width)?];
    let channels = size("output_channels", output_channels)?;
    Ok(vec![boxes.dims().first().copied().unwrap_or(0), channels, pooled[0], pooled[1]])
}

/// Computes the mean of the pixels in each cell of each region. Each cell has its own channels of the images.
///
/// Corners are rounded, the right and lower ones moved by a pixel, and all multiplied by `spatial_scale`. A region is
/// at least 0.1 pixels wide and high. A cell without pixels has the result 0.
///
/// # Errors
/// As [`roi_max_pool`].
pub fn psroi_pool(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    boxes_num: Option<&View<'_>>,
    with: &PsroiPoolAttributes,
) -> Result<()> {
    let PsroiPoolAttributes { pooled_height, pooled_width, output_channels, spatial_scale } = *with;
    let pooled = [pooled_height, pooled_width];
    let rules = PositionRules::new(x.dims(), boxes, boxes_num, pooled, output_channels, spatial_scale)?;
    expect_shape(&rules.result(), out.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(0.0);
            rules.each::<T>(boxes, |result, pixels, area| {
                out[result] = pixels.map(|pixel| x[pixel]).fold(0.0, |sum: T, pixel| sum + pixel) / area as T;
            })
        })
    })
}

/// Computes the gradient of [`psroi_pool`] with respect to the images.
///
/// # Errors
/// As [`psroi_pool`].
pub fn psroi_pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    boxes_num: Option<&View<'_>>,
    dout: &View<'_>,
    with: &PsroiPoolAttributes,
) -> Result<()> {
    let PsroiPoolAttributes { pooled_height, pooled_width, output_channels, spatial_scale } = *with;
    let pooled = [pooled_height, pooled_width];
    let rules = PositionRules::new(x.dims(), boxes, boxes_num, pooled, output_channels, spatial_scale)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(0.0);
            rules.each::<T>(boxes, |result, pixels, area| {
                pixels.for_each(|pixel| dx[pixel] += dout[result] / area as T);
            })
        })
    })
}

fn images_of(boxes_num: Option<&View<'_>>, batch: usize, regions: usize) -> Result<Vec<usize>> {
    let counts = boxes_num.ok_or(Error::Missing { missing: "boxes_num", because: "boxes" })?;
    images_of_counts(counts, batch, regions)
}

/// Returns the rows or columns of each cell of a region with rounded corners. The borders of cells are computed in
/// float32, as in the host.
fn rounded_cells<T: Float>(corners: [T; 2], count: usize, len: usize) -> Vec<Range<usize>> {
    let [start, end] = corners.map(|corner| corner.into().round());
    let step = (end - start + 1.0).max(1.0) as f32 / count as f32;
    let inside = |place: f64| (place + start).clamp(0.0, len as f64) as usize;
    let borders = |n: usize| [(n as f32 * step).floor(), ((n + 1) as f32 * step).ceil()];
    let cell = |n| borders(n).map(|border| inside(border.into()));
    (0..count).map(cell).map(|[start, end]| start..end.max(start)).collect()
}

/// The images and the regions of a pool with a channel for each cell.
struct PositionRules {
    images: Vec<usize>,
    size: [usize; 2],
    pooled: [usize; 2],
    channels: usize,
    scale: f64,
}

impl PositionRules {
    fn new(
        x: &[usize],
        boxes: &View<'_>,
        boxes_num: Option<&View<'_>>,
        pooled: [i64; 2],
        output_channels: i64,
        scale: f64,
    ) -> Result<Self> {
        let [batch, _, height, width] = image(x)?;
        let pooled = [size("pooled_height", pooled[0])?, size("pooled_width", pooled[1])?];
        let channels = size("output_channels", output_channels)?;
        let all = pooled.iter().try_fold(channels, |product, &n| product.checked_mul(n));
        expect_shape(&[batch, all.ok_or(Error::Overflow)?, height, width], x)?;
        let regions = boxes.dims().first().copied().unwrap_or(0);
        expect_shape(&[regions, 4], boxes.dims())?;
        let images = images_of(boxes_num, batch, regions)?;
        Ok(Self { images, size: [height, width], pooled, channels, scale })
    }

    fn result(&self) -> [usize; 4] {
        [self.images.len(), self.channels, self.pooled[0], self.pooled[1]]
    }

    /// Calls a function for each cell that has pixels with the index of its result, its pixels and their number.
    fn each<T: Float>(
        &self,
        boxes: &View<'_>,
        mut visit: impl FnMut(usize, &mut dyn Iterator<Item = usize>, usize),
    ) -> Result<()> {
        let boxes = floats(boxes)?;
        let [height, width] = self.size;
        let count = self.pooled[0] * self.pooled[1];
        for (region, &[x1, y1, x2, y2]) in boxes.as_chunks::<4>().0.iter().enumerate() {
            let rows = self.cells::<T>(y1, y2, 0);
            let columns = self.cells::<T>(x1, x2, 1);
            for channel in 0..self.channels * count {
                let cell = channel % count;
                let (rows, columns) = (&rows[cell / self.pooled[1]], &columns[cell % self.pooled[1]]);
                if rows.is_empty() || columns.is_empty() {
                    continue;
                }
                let start = (self.images[region] * self.channels * count + channel) * height * width;
                let area = rows.len() * columns.len();
                let pixel = |row| columns.clone().map(move |column| start + row * width + column);
                visit(region * self.channels * count + channel, &mut rows.clone().flat_map(pixel), area);
            }
        }
        Ok(())
    }

    /// Returns the rows or columns of each cell. Their borders are computed in the type of the images.
    fn cells<T: Float>(&self, from: f64, to: f64, axis: usize) -> Vec<Range<usize>> {
        let (count, len) = (self.pooled[axis], self.size[axis] as f64);
        let scale = T::of(self.scale);
        let [start, end] = [from.round(), to.round() + 1.0].map(|corner| T::of(corner) * scale);
        let step = (end - start).max(T::of(0.1)) / T::of(count as f64);
        let border = |n: usize| -> f64 { (T::of(n as f64) * step + start).into() };
        let inside = |place: f64| place.clamp(0.0, len) as usize;
        let cell = |n| inside(border(n).floor())..inside(border(n + 1).ceil());
        (0..count).map(cell).collect()
    }
}
