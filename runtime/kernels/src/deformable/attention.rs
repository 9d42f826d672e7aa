//! Deformable attention (Zhu et al., "Deformable DETR", 2021).

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::loops::taps::{Tap, taps};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`deformable_attention`].
///
/// # Errors
/// [`Error::Rank`].
pub fn deformable_attention_shape(
    value: TensorMeta<'_>,
    _shapes: TensorMeta<'_>,
    _starts: TensorMeta<'_>,
    places: TensorMeta<'_>,
    _weights: TensorMeta<'_>,
) -> Result<Vec<usize>> {
    let (&[batch, _, heads, channels], &[_, queries, ..]) = (value.dims(), places.dims()) else {
        return Err(Error::Rank { dims: value.dims().len(), strides: 4 });
    };
    Ok(vec![batch, queries, heads * channels])
}

/// Sums weighted samples of several images for each query and head.
///
/// `value`, `[batch, pixels, heads, channels]`, holds the pixels of all images one after the other, `shapes`
/// their heights and widths, and `starts` the indices of their first pixels. `places` is `[batch, queries,
/// heads, images, points, 2]`, with the coordinates `x, y`, which are 0 and 1 at the edges of an image.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for an image that is not in `value`, and [`Error::Type`].
pub fn deformable_attention(
    out: &mut ViewMut<'_>,
    value: &View<'_>,
    shapes: &View<'_>,
    starts: &View<'_>,
    places: &View<'_>,
    weights: &View<'_>,
) -> Result<()> {
    let rules = Rules::new(value, shapes, starts, places, weights)?;
    expect_shape(&rules.result(), out.dims())?;
    with_float!(value.dtype(), T => {
        with_slices::<T, 1, 3>([out.reborrow()], [value, places, weights], |[out], [value, places, weights]| {
            out.fill(0.0);
            rules.each_sample(places, |sample, _, target, taps| {
                for tap in taps {
                    for channel in 0..rules.channels {
                        out[target + channel] += value[tap.pixel + channel] * tap.weight * weights[sample];
                    }
                }
            });
            Ok(())
        })
    })
}

/// Computes the gradients of [`deformable_attention`].
///
/// # Errors
/// As [`deformable_attention`].
pub fn deformable_attention_grad(
    dvalue: &mut ViewMut<'_>,
    dplaces: &mut ViewMut<'_>,
    dweights: &mut ViewMut<'_>,
    value: &View<'_>,
    shapes: &View<'_>,
    starts: &View<'_>,
    places: &View<'_>,
    weights: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    let rules = Rules::new(value, shapes, starts, places, weights)?;
    expect_shape(&rules.result(), dout.dims())?;
    expect_shape(value.dims(), dvalue.dims())?;
    expect_shape(places.dims(), dplaces.dims())?;
    expect_shape(weights.dims(), dweights.dims())?;
    with_float!(value.dtype(), T => {
        let outs = [dvalue.reborrow(), dplaces.reborrow(), dweights.reborrow()];
        let inputs = [value, places, weights, dout];
        with_slices::<T, 3, 4>(outs, inputs, |[dvalue, dplaces, dweights], [value, places, weights, dout]| {
            for gradient in [&mut *dvalue, &mut *dplaces, &mut *dweights] {
                gradient.fill(0.0);
            }
            rules.each_sample(places, |sample, size, target, taps| {
                for tap in taps {
                    for channel in 0..rules.channels {
                        let upstream = dout[target + channel];
                        dvalue[tap.pixel + channel] += upstream * tap.weight * weights[sample];
                        let gradient = upstream * value[tap.pixel + channel];
                        dweights[sample] += gradient * tap.weight;
                        // A position is `x, y`, relative to the width and the height.
                        dplaces[2 * sample] += gradient * weights[sample] * tap.slopes[1] * size[1] as T;
                        dplaces[2 * sample + 1] += gradient * weights[sample] * tap.slopes[0] * size[0] as T;
                    }
                }
            });
            Ok(())
        })
    })
}

struct Rules {
    batch: usize,
    pixels: usize,
    heads: usize,
    channels: usize,
    queries: usize,
    points: usize,
    /// The index of the first pixel and the size of each image.
    images: Vec<(usize, [usize; 2])>,
}

impl Rules {
    fn new(
        value: &View<'_>,
        shapes: &View<'_>,
        starts: &View<'_>,
        places: &View<'_>,
        weights: &View<'_>,
    ) -> Result<Self> {
        let (&[batch, pixels, heads, channels], &[_, queries, _, images, points, _]) =
            (value.dims(), places.dims())
        else {
            return Err(Error::Rank { dims: places.dims().len(), strides: 6 });
        };
        expect_shape(&[batch, queries, heads, images, points, 2], places.dims())?;
        expect_shape(&[batch, queries, heads, images, points], weights.dims())?;
        expect_shape(&[images, 2], shapes.dims())?;
        expect_shape(&[images], starts.dims())?;
        let sizes = integers(shapes)?;
        let image = |(start, size): (i64, &[i64; 2])| {
            let end = size[0].checked_mul(size[1]).and_then(|count| count.checked_add(start));
            let inside = start >= 0 && size.iter().all(|&len| len >= 0);
            match end.filter(|&end| inside && end <= pixels as i64) {
                Some(_) => Ok((start as usize, size.map(|len| len as usize))),
                None => Err(Error::Index { index: start, len: pixels }),
            }
        };
        let images = integers(starts)?.into_iter().zip(sizes.as_chunks().0).map(image);
        Ok(Self { batch, pixels, heads, channels, queries, points, images: images.collect::<Result<_>>()? })
    }

    fn result(&self) -> [usize; 3] {
        [self.batch, self.queries, self.heads * self.channels]
    }

    /// Calls a function for each sample with its number, the size of its image, the first channel of its sum,
    /// and the first channels of the pixels that it depends on.
    fn each_sample<T: Float>(
        &self,
        places: &[T],
        mut visit: impl FnMut(usize, [usize; 2], usize, &[Tap<T>]),
    ) {
        let per_head = self.images.len() * self.points;
        for sum in 0..self.batch * self.queries * self.heads {
            let (head, batch) = (sum % self.heads, sum / self.heads / self.queries.max(1));
            for own in 0..per_head {
                let (sample, (start, size)) = (sum * per_head + own, self.images[own / self.points]);
                let [x, y] = [0, 1].map(|n| places[2 * sample + n] * T::of(size[1 - n] as f64) - T::of(0.5));
                let mut taps = taps(y, x, size);
                for tap in &mut taps {
                    let pixel = batch * self.pixels + start + tap.pixel;
                    tap.pixel = (pixel * self.heads + head) * self.channels;
                }
                visit(sample, size, sum * self.channels, &taps);
            }
        }
    }
}
