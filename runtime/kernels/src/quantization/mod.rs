//! Numbers that are rounded to a few levels, as floats: training with simulated quantisation.
//!
//! A number is divided by a scale, multiplied by the largest level and rounded. Scales are the largest absolute
//! values, or moving averages of them.

mod averages;
mod channels;

use crate::attributes::FakeQuantizeAbsMaxAttributes;
pub use averages::{
    fake_quantize_moving_average, moving_average_abs_max_scale, quantize_by_scale, quantize_linear,
    quantize_linear_training,
};
pub use channels::{dequantize_by_scale, dequantize_channels, dequantize_linear};

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, elements, with_slices};
use crate::tensor::axis::{Around, axis};
use crate::tensor::{View, ViewMut};

/// Quantises numbers by their largest absolute value, and returns it as their scale. With an axis that is not
/// negative, each index of that dimension has its own scale. `dequantize` multiplies the integers by the scales
/// again.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`] unless there is a scale for each index,
/// [`Error::Attribute`], and [`Error::Type`] unless the tensors are floating-point.
pub fn fake_quantize_abs_max(
    out: &mut ViewMut<'_>,
    out_scale: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &FakeQuantizeAbsMaxAttributes,
) -> Result<()> {
    let FakeQuantizeAbsMaxAttributes { bit_length, round_type, quant_axis, dequantize } = *with;
    let levels = Levels { largest: levels(bit_length)?, rounding: Rounding::new(round_type)?, dequantize };
    let around = channels(x.dims(), quant_axis)?;
    expect_length("out_scale", around.len, out_scale.len())?;
    with_float!(x.dtype(), T => {
        let scales = largest(&elements::<T>(x)?, around);
        levels.quantize(out, x, &scales, around)?;
        T::store(out_scale, &scales)
    })
}

/// A rounding mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Halves go to the even integer. Integers are limited to those of the bits.
    ToEven,
    /// Numbers are limited to the scale. Halves go away from zero.
    AwayFromZero,
}

impl Rounding {
    fn new(round_type: i64) -> Result<Self> {
        match round_type {
            0 => Ok(Self::ToEven),
            1 => Ok(Self::AwayFromZero),
            other => Err(Error::Attribute { name: "round_type", value: other.to_string() }),
        }
    }
}

/// The levels to which numbers are rounded.
#[derive(Clone, Copy)]
struct Levels {
    largest: f64,
    rounding: Rounding,
    dequantize: bool,
}

impl Levels {
    /// Quantises numbers by the scale of their channel.
    fn quantize<T: Float>(
        self,
        out: &mut ViewMut<'_>,
        x: &View<'_>,
        scales: &[T],
        around: Around,
    ) -> Result<()> {
        expect_shape(x.dims(), out.dims())?;
        expect_length("scale", around.len, scales.len())?;
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            each_channel(out.len(), around, |range, channel| {
                let scale = scales[channel];
                let factor = T::of(self.largest) * reciprocal(scale);
                for (out, &x) in out[range.clone()].iter_mut().zip(&x[range]) {
                    let level = self.level(x, scale, factor);
                    *out = if self.dequantize { level * scale / T::of(self.largest) } else { level };
                }
            });
            Ok(())
        })
    }

    fn level<T: Float>(self, x: T, scale: T, factor: T) -> T {
        let largest = T::of(self.largest);
        match self.rounding {
            Rounding::AwayFromZero => round_away(factor * x.clamp(-scale, scale)),
            // The 8-bit floats have these largest numbers.
            Rounding::ToEven if self.largest == 448.0 => {
                round_float(factor * x, 3, -6).clamp(-largest, largest)
            }
            Rounding::ToEven if self.largest == 57344.0 => {
                round_float(factor * x, 2, -14).clamp(-largest, largest)
            }
            Rounding::ToEven => (factor * x).round().clamp(-largest - T::ONE, largest),
        }
    }
}

/// Returns the largest level of a number of bits.
fn levels(bit_length: i64) -> Result<f64> {
    match bit_length {
        1..=16 => Ok(f64::from((1_u32 << (bit_length - 1)) - 1)),
        _ => Err(Error::Attribute { name: "bit_length", value: bit_length.to_string() }),
    }
}

/// Splits a shape at the dimension with a scale for each index. A negative number stands for one scale.
fn channels(dims: &[usize], quant_axis: i64) -> Result<Around> {
    if quant_axis < 0 {
        return Ok(Around { outer: 1, len: 1, inner: dims.iter().product() });
    }
    Ok(Around::new(dims, Some(axis(quant_axis, dims.len())?)))
}

/// Calls a function with each run of elements of one channel, and the channel.
fn each_channel(len: usize, around: Around, mut visit: impl FnMut(std::ops::Range<usize>, usize)) {
    if len == 0 {
        return;
    }
    for run in 0..around.outer * around.len {
        visit(run * around.inner..(run + 1) * around.inner, run % around.len);
    }
}

/// Returns the largest absolute value of each channel.
fn largest<T: Float>(x: &[T], around: Around) -> Vec<T> {
    let mut scales = vec![T::ZERO; around.len];
    each_channel(x.len(), around, |range, channel| {
        scales[channel] = x[range].iter().fold(scales[channel], |top, x| top.max(x.abs()));
    });
    scales
}

/// Divides 1 by a scale, which is 1e-6 if it is zero.
fn reciprocal<T: Float>(scale: T) -> T {
    if scale <= T::of(1e-30) { T::ONE / (scale + T::of(1e-6)) } else { T::ONE / scale }
}

/// Rounds to the nearest integer, halves away from zero.
fn round_away<T: Float>(x: T) -> T {
    let low = x.abs().floor();
    let up = if x.abs() - low >= T::of(0.5) { T::ONE } else { T::ZERO };
    (low + up).copysign(x)
}

/// Rounds to a float with some bits behind the leading one, and a smallest exponent.
fn round_float<T: Float>(x: T, bits: i32, smallest: i32) -> T {
    let value: f64 = x.into();
    if value == 0.0 || !value.is_finite() {
        return x;
    }
    let exponent = (value.abs().log2().floor() as i32).max(smallest);
    let step = f64::from(exponent - bits).exp2();
    T::of((value / step).round_ties_even() * step)
}
