//! Windows around some pixels of an image.

use super::{image, size};
use crate::attributes::MaskedIm2colAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`masked_im2col`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Attribute`] for a size that is not positive.
pub fn masked_im2col_shape(
    x: TensorMeta<'_>,
    rows: TensorMeta<'_>,
    _columns: TensorMeta<'_>,
    with: &MaskedIm2colAttributes,
) -> Result<Vec<usize>> {
    let MaskedIm2colAttributes { kernel_height, kernel_width, .. } = *with;
    let [height, width] = [size("kernel_height", kernel_height)?, size("kernel_width", kernel_width)?];
    let [_, channels, ..] = image(x.dims())?;
    let window = height.checked_mul(width).and_then(|window| window.checked_mul(channels));
    Ok(vec![window.ok_or(Error::Overflow)?, rows.dims().iter().product()])
}

/// Collects the windows around some pixels of an image, `[channels * kernel_height * kernel_width, pixels]`.
///
/// The padding is the number of rows and columns by which a window starts before its pixel. Pixels outside
/// the image are zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for a size that is not positive, and [`Error::Type`].
pub fn masked_im2col(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    rows: &View<'_>,
    columns: &View<'_>,
    with: &MaskedIm2colAttributes,
) -> Result<()> {
    let MaskedIm2colAttributes { kernel_height, kernel_width, pad_height, pad_width } = *with;
    let shape = masked_im2col_shape(
        x.meta(),
        rows.meta(),
        columns.meta(),
        &MaskedIm2colAttributes { kernel_height, kernel_width, pad_height, pad_width },
    )?;
    let [_, channels, height, width] = image(x.dims())?;
    expect_shape(&[1, channels, height, width], x.dims())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(rows.dims(), columns.dims())?;
    let (rows, columns) = (integers(rows)?, integers(columns)?);
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            // An image without pixels has no channel to read.
            out.fill(0.0);
            let mut out = out.iter_mut();
            for pixels in x.chunks((height * width).max(1)) {
                for i in 0..kernel_height {
                    for j in 0..kernel_width {
                        for ((&row, &column), out) in rows.iter().zip(&columns).zip(&mut out) {
                            let place = at(from(row, pad_height, i), from(column, pad_width, j), height, width);
                            *out = place.map_or(0.0, |place| pixels[place]);
                        }
                    }
                }
            }
            Ok(())
        })
    })
}

/// Writes columns `[channels, pixels]` to some pixels of an image. The other pixels are set to zero.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a pixel outside the image, and [`Error::Type`].
pub fn masked_col2im(out: &mut ViewMut<'_>, x: &View<'_>, rows: &View<'_>, columns: &View<'_>) -> Result<()> {
    let [_, channels, height, width] = image(out.dims())?;
    expect_shape(&[1, channels, height, width], out.dims())?;
    expect_shape(&[channels, rows.len()], x.dims())?;
    expect_shape(rows.dims(), columns.dims())?;
    let mut places = Vec::with_capacity(rows.len());
    for (row, column) in integers(rows)?.into_iter().zip(integers(columns)?) {
        let outside = || {
            if (0..height as i64).contains(&row) {
                Error::Index { index: column, len: width }
            } else {
                Error::Index { index: row, len: height }
            }
        };
        places.push(at(row, column, height, width).ok_or_else(outside)?);
    }
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(0.0);
            let len = places.len().max(1);
            for (pixels, values) in out.chunks_mut((height * width).max(1)).zip(x.chunks(len)) {
                places.iter().zip(values).for_each(|(&place, &value)| pixels[place] = value);
            }
            Ok(())
        })
    })
}

/// Returns the row or column of an element of a window. Outside the image, the exact value does not matter.
fn from(pixel: i64, padding: i64, element: i64) -> i64 {
    pixel.saturating_sub(padding).saturating_add(element)
}

fn at(row: i64, column: i64, height: usize, width: usize) -> Option<usize> {
    let row = usize::try_from(row).ok().filter(|&row| row < height)?;
    let column = usize::try_from(column).ok().filter(|&column| column < width)?;
    Some(row * width + column)
}
