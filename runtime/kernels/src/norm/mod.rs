//! Batch, layer, group and instance normalisation.
//!
//! The functions of slices implement only batch normalisation; those of views implement all kinds.

mod batch;
mod operators;
mod plan;

pub use batch::{batch_norm, batch_norm_grad};
pub use operators::{
    group_norm, group_norm_grad, instance_norm, instance_norm_grad, layer_norm, layer_norm_grad, rms_norm,
    rms_norm_grad,
};

use crate::elements::element::Real;
use crate::error::{Error, Result, expect_length};

/// The number of partial sums, so that the compiler vectorises the summation.
const LANES: usize = 8;

/// A tensor of channels: `batch` times `channels` times `inner` elements.
///
/// In channels-first images the pixels are the inner elements. In channels-last images there is one inner
/// element, and the pixels count as batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    batch: usize,
    channels: usize,
    inner: usize,
}

impl Channels {
    /// Splits a shape whose second dimension is the channels.
    ///
    /// # Errors
    /// [`Error::Rank`] for less than two dimensions.
    pub fn first(dims: &[usize]) -> Result<Self> {
        match *dims {
            [batch, channels, ref inner @ ..] => Ok(Self { batch, channels, inner: inner.iter().product() }),
            _ => Err(Error::Rank { dims: dims.len(), strides: 2 }),
        }
    }

    /// Splits a shape whose last dimension is the channels.
    ///
    /// # Errors
    /// [`Error::Rank`] for less than two dimensions.
    pub fn last(dims: &[usize]) -> Result<Self> {
        match *dims {
            [ref batch @ .., channels] if !batch.is_empty() => {
                Ok(Self { batch: batch.iter().product(), channels, inner: 1 })
            }
            _ => Err(Error::Rank { dims: dims.len(), strides: 2 }),
        }
    }

    /// Returns the number of channels.
    #[must_use]
    pub fn count(&self) -> usize {
        self.channels
    }

    /// Returns the number of elements that each channel has.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.batch * self.inner
    }

    fn len(&self) -> usize {
        self.samples() * self.channels
    }

    /// Calls `visit` with each run of elements of one channel.
    fn planes(&self, mut visit: impl FnMut(usize, std::ops::Range<usize>)) {
        for row in 0..self.batch {
            for channel in 0..self.channels {
                let start = (row * self.channels + channel) * self.inner;
                visit(channel, start..start + self.inner);
            }
        }
    }

    /// Sums `term(channel, element)` for each channel.
    fn sums<T: Real>(&self, x: &[T], term: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.channels];
        if self.inner == 1 && self.channels > 0 {
            for row in x.chunks_exact(self.channels) {
                for (channel, (sum, element)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += term(channel, element.widen());
                }
            }
        } else {
            self.planes(|channel, plane| sums[channel] += sum(&x[plane], |element| term(channel, element)));
        }
        sums
    }
}

/// Sums `term` over the elements, in double precision and in lanes.
fn sum<T: Real>(elements: &[T], term: impl Fn(f64) -> f64) -> f64 {
    let (chunks, rest) = elements.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, element) in lanes.iter_mut().zip(chunk) {
            *lane += term(element.widen());
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|element| term(element.widen())).sum::<f64>()
}

/// Returns the numbers of batches, channels and pixels of a shape, and true if the layout's name puts the
/// channels last.
fn channels(dims: &[usize], layout: &str) -> Result<(usize, usize, usize, bool)> {
    let rank = Error::Rank { dims: dims.len(), strides: 2 };
    let &[batch, .., last] = dims else { return Err(rank) };
    match layout {
        "NCHW" | "NCDHW" | "NCL" | "NC" | "ANYLAYOUT" => {
            Ok((batch, dims[1], dims[2..].iter().product(), false))
        }
        "NHWC" | "NDHWC" | "NLC" => Ok((batch, last, dims[1..dims.len() - 1].iter().product(), true)),
        _ => Err(Error::Attribute { name: "data_layout", value: layout.to_owned() }),
    }
}

/// Computes the mean and the biased variance (divided by the number of samples) of each channel over all
/// samples.
///
/// Without samples, both are zero.
///
/// # Errors
/// [`Error::Length`].
pub fn statistics<T: Real>(shape: Channels, x: &[T], mean: &mut [T], variance: &mut [T]) -> Result<()> {
    expect_length("x", shape.len(), x.len())?;
    expect_length("mean", shape.channels, mean.len())?;
    expect_length("variance", shape.channels, variance.len())?;
    let samples = shape.samples().max(1) as f64;
    let means: Vec<f64> = shape.sums(x, |_, element| element).into_iter().map(|sum| sum / samples).collect();
    let squares = shape.sums(x, |channel, element| (element - means[channel]).powi(2));
    for (channel, (mean, variance)) in mean.iter_mut().zip(variance).enumerate() {
        *mean = T::narrow(means[channel]);
        *variance = T::narrow(squares[channel] / samples);
    }
    Ok(())
}

/// Replaces variances by reciprocal standard deviations: `1 / sqrt(variance + epsilon)`.
pub fn reciprocal_deviation<T: Real>(variance: &mut [T], epsilon: f64) {
    let epsilon = T::narrow(epsilon);
    for variance in variance {
        *variance = (*variance + epsilon).sqrt().recip();
    }
}

/// The statistics that normalise each channel.
#[derive(Clone, Copy, Debug)]
pub struct Normalizer<'a, T> {
    /// The mean, which becomes `bias`.
    pub mean: &'a [T],
    /// The reciprocal standard deviation, which becomes `scale`.
    pub reciprocal_deviation: &'a [T],
    /// The factor of the result; one if absent.
    pub scale: Option<&'a [T]>,
    /// The offset of the result; zero if absent.
    pub bias: Option<&'a [T]>,
}

impl<T: Real> Normalizer<'_, T> {
    /// Writes `(x - mean) * reciprocal_deviation * scale + bias` to `y`.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn apply(&self, shape: Channels, x: &[T], y: &mut [T]) -> Result<()> {
        expect_length("x", shape.len(), x.len())?;
        expect_length("y", shape.len(), y.len())?;
        expect_length("mean", shape.channels, self.mean.len())?;
        expect_length("reciprocal_deviation", shape.channels, self.reciprocal_deviation.len())?;
        expect_length("scale", shape.channels, self.scale.map_or(shape.channels, <[T]>::len))?;
        expect_length("bias", shape.channels, self.bias.map_or(shape.channels, <[T]>::len))?;
        let lines: Vec<(T, T)> = (0..shape.channels).map(|channel| self.line(channel)).collect();
        if shape.inner == 1 && shape.channels > 0 {
            for (x, y) in x.chunks_exact(shape.channels).zip(y.chunks_exact_mut(shape.channels)) {
                for ((y, &x), &(slope, offset)) in y.iter_mut().zip(x).zip(&lines) {
                    *y = x * slope + offset;
                }
            }
        } else {
            shape.planes(|channel, plane| {
                let (slope, offset) = lines[channel];
                for (y, &x) in y[plane.clone()].iter_mut().zip(&x[plane]) {
                    *y = x * slope + offset;
                }
            });
        }
        Ok(())
    }

    /// Returns a channel's normalisation as a linear function: slope and offset.
    fn line(&self, channel: usize) -> (T, T) {
        let scale = self.scale.map_or(T::one(), |scale| scale[channel]);
        let bias = self.bias.map_or(T::zero(), |bias| bias[channel]);
        let slope = self.reciprocal_deviation[channel] * scale;
        (slope, bias - self.mean[channel] * slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|n| ((n * 37 + 11) % 101) as f64 / 10.0 - 3.0).collect()
    }

    /// Computes the index of an element of a channel in the simplest way.
    fn of_channel(dims: &[usize], axis: usize, x: &[f64], channel: usize) -> Vec<f64> {
        let inner: usize = dims[axis + 1..].iter().product();
        let all = x.iter().enumerate();
        all.filter(|(at, _)| at / inner % dims[axis] == channel).map(|(_, &x)| x).collect()
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * (1.0 + right.abs())
    }

    #[test]
    fn statistics_are_those_of_each_channel() {
        for (dims, axis) in
            [(&[2, 3, 5, 7][..], 1), (&[2, 5, 7, 3], 3), (&[6, 4], 1), (&[1, 2, 1], 1), (&[9, 1, 40], 1)]
        {
            let shape = if axis == 1 { Channels::first(dims) } else { Channels::last(dims) }.unwrap();
            let x = numbers(dims.iter().product());
            let (mut mean, mut variance) = (vec![0.0; dims[axis]], vec![0.0; dims[axis]]);
            statistics(shape, &x, &mut mean, &mut variance).unwrap();
            for channel in 0..dims[axis] {
                let elements = of_channel(dims, axis, &x, channel);
                assert_eq!(elements.len(), shape.samples());
                let count = elements.len() as f64;
                let wanted = elements.iter().sum::<f64>() / count;
                assert!(close(mean[channel], wanted));
                let wanted = elements.iter().map(|x| (x - wanted).powi(2)).sum::<f64>() / count;
                assert!(close(variance[channel], wanted), "{dims:?}: {variance:?}, {wanted}");
            }
        }
    }

    #[test]
    fn single_precision_is_added_up_in_double() {
        let x: Vec<f32> = (0..100_000).map(|n| 1e4 + (n % 2) as f32).collect();
        let (mut mean, mut variance) = ([0.0], [0.0]);
        statistics(Channels::first(&[1, 1, x.len()]).unwrap(), &x, &mut mean, &mut variance).unwrap();
        assert_eq!((mean, variance), ([10000.5], [0.25]));
    }

    #[test]
    fn normalising_is_the_formula() {
        for (dims, axis) in [(&[2, 3, 4][..], 1), (&[2, 4, 3], 2)] {
            let shape = if axis == 1 { Channels::first(dims) } else { Channels::last(dims) }.unwrap();
            let x = numbers(24);
            let (mean, mut deviation) = ([0.5, -1.0, 2.0], [4.0, 0.25, 1.0]);
            reciprocal_deviation(&mut deviation, 0.0);
            assert_eq!(deviation, [0.5, 2.0, 1.0]);
            let (scale, bias) = ([1.0, 2.0, -1.0], [0.0, 1.0, 5.0]);
            for (scale, bias) in [(Some(&scale[..]), Some(&bias[..])), (None, None)] {
                let mut y = vec![0.0; 24];
                let with = Normalizer { mean: &mean, reciprocal_deviation: &deviation, scale, bias };
                with.apply(shape, &x, &mut y).unwrap();
                for channel in 0..3 {
                    let (scale, bias) =
                        (scale.map_or(1.0, |scale| scale[channel]), bias.map_or(0.0, |bias| bias[channel]));
                    let pairs = of_channel(dims, axis, &x, channel)
                        .into_iter()
                        .zip(of_channel(dims, axis, &y, channel));
                    for (x, y) in pairs {
                        assert!(close(y, (x - mean[channel]) * deviation[channel] * scale + bias));
                    }
                }
            }
        }
    }

    #[test]
    fn shapes_are_checked() {
        assert!(Channels::first(&[3]).is_err() && Channels::last(&[3]).is_err());
        let shape = Channels::first(&[2, 3]).unwrap();
        let refused = statistics(shape, &[0.0_f32; 5], &mut [0.0; 3], &mut [0.0; 3]);
        assert_eq!(refused, Err(Error::Length { what: "x", expected: 6, actual: 5 }));
        let none = Channels::first(&[0, 2, 4]).unwrap();
        let (mut mean, mut variance) = ([1.0_f32; 2], [1.0; 2]);
        statistics(none, &[], &mut mean, &mut variance).unwrap();
        assert_eq!((mean, variance), ([0.0; 2], [0.0; 2]));
    }
}
