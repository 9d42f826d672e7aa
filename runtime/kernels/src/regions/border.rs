//! Border Align: the largest sample on each border of boxes (Qiu et al., "BorderDet", 2020).

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::images::{image, size};
use crate::loops::slices::{Slot, elements, floats, integers, store_integers};
use crate::loops::taps::{Taps, clamped_taps};
use crate::numeric::Numeric;
use crate::tensor::{TensorMeta, View, ViewMut};

/// The borders of a box: top, left, bottom and right.
const BORDERS: usize = 4;

/// Computes the shape of the outputs of [`border_align`].
///
/// # Errors
/// As [`border_align`].
pub fn border_align_shape(x: TensorMeta<'_>, boxes: TensorMeta<'_>, pool_size: i64) -> Result<Vec<usize>> {
    Ok(Rules::new(x.dims(), boxes.dims(), pool_size)?.result().to_vec())
}

/// Finds the largest of the `pool_size + 1` samples on each border of the boxes, and its number: `[batch,
/// channels, boxes, 4]` for images with `4 * channels` channels, those for the top, the left, the bottom and the
/// right border. Of equal samples, the first is found.
///
/// Boxes are `[batch, boxes, 4]`, the corners `x1, y1, x2, y2`. The samples of the top and the left border begin at
/// the first corner, the others at the second one.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for a size that is not positive, and [`Error::Type`].
pub fn border_align(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    pool_size: i64,
) -> Result<()> {
    let rules = Rules::new(x.dims(), boxes.dims(), pool_size)?;
    expect_shape(&rules.result(), out.dims())?;
    expect_shape(&rules.result(), indices.dims())?;
    let boxes = floats(boxes)?.into_owned();
    with_float!(x.dtype(), T => {
        let (mut largest, mut places) = (vec![T::ZERO; out.len()], vec![0; out.len()]);
        {
            let x = elements::<T>(x)?;
            for border in 0..rules.borders() {
                for sample in 0..=rules.size {
                    let taps = rules.taps(&boxes, border, sample);
                    for channel in 0..rules.channels {
                        let (result, start) = rules.place(border, channel);
                        let value = taps.iter().fold(T::ZERO, |sum, tap| sum + x[start + tap.pixel] * T::of(tap.weight));
                        if sample == 0 || value > largest[result] {
                            (largest[result], places[result]) = (value, sample as i64);
                        }
                    }
                }
            }
        }
        T::store(out, &largest)?;
        store_integers(indices, &places)
    })
}

/// Computes the gradient of [`border_align`] with respect to the images.
///
/// # Errors
/// As [`border_align`], and [`Error::Index`] for a sample that does not exist.
pub fn border_align_grad(
    dx: &mut ViewMut<'_>,
    boxes: &View<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    pool_size: i64,
) -> Result<()> {
    let rules = Rules::new(dx.dims(), boxes.dims(), pool_size)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(&rules.result(), indices.dims())?;
    let (boxes, indices) = (floats(boxes)?.into_owned(), integers(indices)?);
    with_float!(dx.dtype(), T => {
        let mut gradient = vec![T::ZERO; dx.len()];
        {
            let dout = elements::<T>(dout)?;
            for border in 0..rules.borders() {
                for channel in 0..rules.channels {
                    let (result, start) = rules.place(border, channel);
                    let index = indices[result];
                    let sample = u64::try_from(index).ok().filter(|&sample| sample <= rules.size);
                    let sample = sample.ok_or(Error::Index { index, len: rules.size as usize + 1 })?;
                    for tap in rules.taps(&boxes, border, sample) {
                        gradient[start + tap.pixel] += dout[result] * T::of(tap.weight);
                    }
                }
            }
        }
        T::store(dx, &gradient)
    })
}

struct Rules {
    batch: usize,
    channels: usize,
    image: [usize; 2],
    boxes: usize,
    size: u64,
}

impl Rules {
    fn new(images: &[usize], boxes: &[usize], pool_size: i64) -> Result<Self> {
        let [batch, channels, height, width] = image(images)?;
        let count = boxes.get(1).copied().unwrap_or(0);
        expect_shape(&[batch, count, 4], boxes)?;
        if !channels.is_multiple_of(BORDERS) {
            return Err(Error::Shape { expected: vec![batch, BORDERS], actual: images.to_vec() });
        }
        let size = size("pool_size", pool_size)? as u64;
        Ok(Self { batch, channels: channels / BORDERS, image: [height, width], boxes: count, size })
    }

    fn result(&self) -> [usize; 4] {
        [self.batch, self.channels, self.boxes, BORDERS]
    }

    /// Returns the number of borders of all boxes.
    fn borders(&self) -> usize {
        self.batch * self.boxes * BORDERS
    }

    /// Returns the index of the result for a border and a channel, and of the first pixel that it may read.
    fn place(&self, border: usize, channel: usize) -> (usize, usize) {
        let (side, place) = (border % BORDERS, border / BORDERS);
        let (n, place) = (place / self.boxes, place % self.boxes);
        let from = (n * BORDERS + side) * self.channels + channel;
        let result = ((n * self.channels + channel) * self.boxes + place) * BORDERS + side;
        (result, from * self.image[0] * self.image[1])
    }

    fn taps(&self, boxes: &[f64], border: usize, sample: u64) -> Taps<f64> {
        let (side, place) = (border % BORDERS, border / BORDERS);
        let corners = &boxes[place * 4..][..4];
        let (from, to) = if side < 2 { (0, 2) } else { (2, 0) };
        let part = sample as f64 / self.size as f64;
        let [mut x, mut y] = [corners[from], corners[from + 1]];
        match side % 2 {
            0 => x += (corners[to] - x) * part,
            _ => y += (corners[to + 1] - y) * part,
        }
        clamped_taps(y, x, self.image)
    }
}
