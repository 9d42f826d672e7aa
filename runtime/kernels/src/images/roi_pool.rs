//! RoI pooling: the largest pixel in each cell of a region (Girshick, "Fast R-CNN", 2015).

use crate::attributes::RoiPoolAttributes;
use std::cmp::Ordering;
use std::ops::Range;

use super::{image, size};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, integers, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the outputs of [`roi_pool`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Attribute`] for a size that is not positive.
pub fn roi_pool_shape(
    x: TensorMeta<'_>,
    boxes: TensorMeta<'_>,
    with: &RoiPoolAttributes,
) -> Result<Vec<usize>> {
    let RoiPoolAttributes { pooled_height, pooled_width, .. } = *with;
    let pooled = [size("pooled_height", pooled_height)?, size("pooled_width", pooled_width)?];
    Ok(vec![boxes.dims().first().copied().unwrap_or(0), image(x.dims())?[1], pooled[0], pooled[1]])
}

/// Computes the largest pixel in each cell of each region, and its index in its channel.
///
/// A region is a row of `boxes`: the index of its image and its corners. The right and lower corners are
/// first moved by one pixel, then all are multiplied by `spatial_scale`; the borders of cells are rounded
/// outwards. A cell without pixels has the result 0 and the index -1.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for an image that does not exist, [`Error::Attribute`]
/// for a size that is not positive, and [`Error::Type`].
pub fn roi_pool(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    with: &RoiPoolAttributes,
) -> Result<()> {
    let RoiPoolAttributes { pooled_height, pooled_width, spatial_scale } = *with;
    let shape = roi_pool_shape(
        x.meta(),
        boxes.meta(),
        &RoiPoolAttributes { pooled_height, pooled_width, spatial_scale },
    )?;
    let [batch, channels, height, width] = image(x.dims())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(&shape, indices.dims())?;
    expect_shape(&[shape[0], 5], boxes.dims())?;
    with_float!(x.dtype(), T => {
        let (mut largest, mut places) = (vec![], vec![]);
        {
            let (x, boxes) = (elements::<T>(x)?, elements::<T>(boxes)?);
            for &[index, x1, y1, x2, y2] in boxes.as_chunks::<5>().0 {
                let index = image_of(index, batch)?;
                let rows = cells(y1, y2, spatial_scale, shape[2], height);
                let columns = cells(x1, x2, spatial_scale, shape[3], width);
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
        store_integers(indices, &places)
    })
}

/// Computes the gradient of [`roi_pool`] with respect to the images.
///
/// # Errors
/// As [`roi_pool`].
pub fn roi_pool_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let [batch, channels, height, width] = image(dx.dims())?;
    let [regions, _, pooled_height, pooled_width] = image(dout.dims())?;
    expect_shape(&[regions, channels, pooled_height, pooled_width], dout.dims())?;
    expect_shape(dout.dims(), indices.dims())?;
    expect_shape(&[regions, 5], boxes.dims())?;
    let (cells, pixels) = (pooled_height * pooled_width, height * width);
    with_float!(dx.dtype(), T => {
        let mut gradient = vec![T::EMPTY; dx.len()];
        {
            let (dout, boxes) = (elements::<T>(dout)?, elements::<T>(boxes)?);
            for (n, index) in integers(indices)?.into_iter().enumerate() {
                let (region, channel) = (n / cells / channels, n / cells % channels);
                let start = (image_of(boxes[region * 5], batch)? * channels + channel) * pixels;
                match usize::try_from(index) {
                    Ok(place) if place < pixels => gradient[start + place] += dout[n],
                    Ok(_) => return Err(Error::Index { index, len: pixels }),
                    // The cell has no pixels.
                    Err(_) => {}
                }
            }
        }
        T::store(dx, &gradient)
    })
}

/// Returns the image that a number of a region means.
pub(crate) fn image_of<T: Float>(index: T, batch: usize) -> Result<usize> {
    let index: f64 = index.into();
    let image = if index.fract() == 0.0 { index as i64 } else { -1 };
    let found = usize::try_from(image).ok().filter(|&image| image < batch);
    found.ok_or(Error::Index { index: image, len: batch })
}

/// Returns the rows or columns of each cell of a region.
fn cells<T: Float>(from: T, to: T, scale: f64, count: usize, len: usize) -> Vec<Range<usize>> {
    let scale = T::of(scale);
    let (start, end) = (from * scale, (to + T::ONE) * scale);
    if end.partial_cmp(&start) != Some(Ordering::Greater) {
        return vec![0..0; count];
    }
    let step = (end - start) / T::of(count as f64);
    let inside = |place: f64| place.clamp(0.0, len as f64) as usize;
    let border = |n: usize| -> f64 { (T::of(n as f64) * step + start).into() };
    (0..count).map(|n| inside(border(n).floor())..inside(border(n + 1).ceil())).collect()
}

/// Returns the largest pixel of a cell and its index; 0 and -1 if the cell has no pixels.
pub(crate) fn top<T: Float>(
    pixels: &[T],
    width: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) -> (T, i64) {
    let places = rows.flat_map(|row| columns.clone().map(move |column| row * width + column));
    let mut best: Option<(T, usize)> = None;
    for place in places {
        if best.is_none_or(|(pixel, _)| pixels[place] > pixel) {
            best = Some((pixels[place], place));
        }
    }
    best.map_or((T::ZERO, -1), |(pixel, place)| (pixel, place as i64))
}
