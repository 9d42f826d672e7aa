//! Upsampling with zeros, FIR filtering and downsampling of images (Karras et al., "StyleGAN 2", 2020).

use super::image;
use crate::attributes::UpfirdnAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`upfirdn`].
///
/// # Errors
/// [`Error::Rank`], [`Error::Length`], and [`Error::Attribute`] for a factor that is not positive, or if the
/// result has no pixels.
pub fn upfirdn_shape(
    x: TensorMeta<'_>,
    filter: TensorMeta<'_>,
    with: &UpfirdnAttributes<'_>,
) -> Result<Vec<usize>> {
    let UpfirdnAttributes { up, down, padding } = *with;
    let [rows, columns] = axes(x.dims(), filter.dims(), up, down, padding)?;
    Ok([&x.dims()[..2], &[rows.len, columns.len]].concat())
}

/// Upsamples images with `up - 1` zeros after each pixel, pads them with zeros, convolves them with a filter,
/// and keeps every `down`-th pixel.
///
/// The factors are those of the width and the height. The padding is given for left, right, top and bottom.
/// Negative padding crops.
///
/// # Errors
/// As [`upfirdn_shape`], [`Error::Shape`], and [`Error::Type`] unless the images are floating-point.
pub fn upfirdn(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    filter: &View<'_>,
    with: &UpfirdnAttributes<'_>,
) -> Result<()> {
    let UpfirdnAttributes { up, down, padding } = *with;
    let [rows, columns] = axes(x.dims(), filter.dims(), up, down, padding)?;
    expect_shape(
        &upfirdn_shape(x.meta(), filter.meta(), &UpfirdnAttributes { up, down, padding })?,
        out.dims(),
    )?;
    let [_, _, height, width] = image(x.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, filter], |[out], [x, filter]| {
            let sizes = (rows.len * columns.len, height * width);
            for (number, out) in out.chunks_mut(sizes.0.max(1)).enumerate() {
                let image = &x[number * sizes.1..][..sizes.1];
                for (place, out) in out.iter_mut().enumerate() {
                    *out = sum(image, filter, &rows, &columns, place);
                }
            }
            Ok(())
        })
    })
}

fn sum<T: Float>(image: &[T], filter: &[T], rows: &Axis, columns: &Axis, place: usize) -> T {
    let mut sum = T::ZERO;
    for i in 0..rows.taps {
        let Some(row) = rows.source(place / columns.len, i) else { continue };
        for j in 0..columns.taps {
            let Some(column) = columns.source(place % columns.len, j) else { continue };
            // The filter is mirrored.
            let weight = filter[(rows.taps - 1 - i) * columns.taps + columns.taps - 1 - j];
            sum += image[row * columns.from + column] * weight;
        }
    }
    sum
}

/// The parameters of one direction.
struct Axis {
    /// The padding before and after.
    from: usize,
    len: usize,
    up: i64,
    down: i64,
    padding: i64,
    /// The number of elements of the filter.
    taps: usize,
}

impl Axis {
    fn new(from: usize, taps: usize, up: i64, down: i64, padding: [i64; 2]) -> Result<Self> {
        for (name, factor) in [("up", up), ("down", down)] {
            if factor < 1 {
                return Err(Error::Attribute { name, value: factor.to_string() });
            }
        }
        let padded = (from as i64)
            .checked_mul(up)
            .and_then(|len| len.checked_add(padding[0])?.checked_add(padding[1])?.checked_sub(taps as i64));
        let padded = padded.filter(|&len| len >= 0);
        let padded =
            padded.ok_or_else(|| Error::Attribute { name: "padding", value: format!("{padding:?}") })?;
        Ok(Self { from, len: (padded / down) as usize + 1, up, down, padding: padding[0], taps })
    }

    /// Returns the pixel that a filter element reads, or `None` for a zero.
    fn source(&self, place: usize, tap: usize) -> Option<usize> {
        let place = place as i64 * self.down + tap as i64 - self.padding;
        let source = usize::try_from(place / self.up).ok()?;
        (place >= 0 && place % self.up == 0 && source < self.from).then_some(source)
    }
}

/// Returns the parameters of the rows and the columns.
fn axes(x: &[usize], filter: &[usize], up: &[i64], down: &[i64], padding: &[i64]) -> Result<[Axis; 2]> {
    let [_, _, height, width] = image(x)?;
    let &[filter_height, filter_width] = filter else {
        return Err(Error::Rank { dims: filter.len(), strides: 2 });
    };
    expect_length("up", 2, up.len())?;
    expect_length("down", 2, down.len())?;
    expect_length("padding", 4, padding.len())?;
    Ok([
        Axis::new(height, filter_height, up[1], down[1], [padding[2], padding[3]])?,
        Axis::new(width, filter_width, up[0], down[0], [padding[0], padding[1]])?,
    ])
}
