//! Numbers of quantised ones.

use super::{channels, each_channel, levels};
use crate::attributes::{DequantizeByScaleAttributes, DequantizeChannelsAttributes};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, scalar, with_slices};
use crate::tensor::axis::Around;
use crate::tensor::{View, ViewMut};

/// Multiplies integers by a scale, and divides them by the largest level: `qmax` or, if that is zero, the one of
/// `bit_length`. `only_observer` leaves the numbers as they are.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`] unless there is a scale for each index,
/// [`Error::Attribute`], and [`Error::Type`] unless the scale is floating-point.
pub fn dequantize_by_scale(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scale: &View<'_>,
    with: &DequantizeByScaleAttributes,
) -> Result<()> {
    let DequantizeByScaleAttributes { quant_axis, bit_length, qmax, only_observer } = *with;
    expect_shape(x.dims(), out.dims())?;
    if only_observer {
        return movement::copy(out, x);
    }
    let largest = if qmax == 0.0 { levels(bit_length)? } else { qmax };
    let around = channels(x.dims(), quant_axis)?;
    with_float!(scale.dtype(), T => dequantize(out, x, &T::load(scale)?, largest as T, around))
}

/// Computes [`dequantize_by_scale`], for hosts whose scale is optional.
///
/// # Errors
/// As [`dequantize_by_scale`], and [`Error::Missing`] without a scale.
pub fn dequantize_linear(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    with: &DequantizeByScaleAttributes,
) -> Result<()> {
    let DequantizeByScaleAttributes { quant_axis, bit_length, qmax, only_observer } = *with;
    let scale = scale.ok_or(Error::Missing { missing: "scale", because: "x" })?;
    dequantize_by_scale(
        out,
        x,
        scale,
        &DequantizeByScaleAttributes { quant_axis, bit_length, qmax, only_observer },
    )
}

/// Multiplies integers by one or two scales, and divides them by the largest levels of their bits. One scale has a
/// number for each index of `quant_axis`. Of two, the first has a number for each index of the dimension
/// `x_num_col_dims`, and the second has one number.
///
/// # Errors
/// As [`dequantize_by_scale`].
pub fn dequantize_channels(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scales: &[View<'_>],
    with: &DequantizeChannelsAttributes<'_>,
) -> Result<()> {
    let DequantizeChannelsAttributes { quant_bits, quant_axis, x_num_col_dims } = *with;
    expect_shape(x.dims(), out.dims())?;
    if quant_bits.len() < scales.len() {
        return Err(Error::Length { what: "quant_bits", expected: scales.len(), actual: quant_bits.len() });
    }
    let (axis, factor) = match scales {
        [_] => (quant_axis, 1.0),
        [_, second] => (x_num_col_dims, scalar("scales", second)?),
        _ => return Err(Error::Length { what: "scales", expected: 2, actual: scales.len() }),
    };
    let largest = quant_bits[..scales.len()].iter().map(|&bits| levels(bits)).product::<Result<f64>>()?;
    let around = channels(x.dims(), axis.max(0))?;
    with_float!(x.dtype(), T => {
        let numbers: Vec<T> = T::load(&scales[0])?.into_iter().map(|scale| scale * factor as T).collect();
        dequantize(out, x, &numbers, largest as T, around)
    })
}

fn dequantize<T: Float>(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scales: &[T],
    largest: T,
    around: Around,
) -> Result<()> {
    expect_length("scale", around.len, scales.len())?;
    with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
        each_channel(out.len(), around, |range, channel| {
            for (out, &x) in out[range.clone()].iter_mut().zip(&x[range]) {
                *out = x * scales[channel] / largest;
            }
        });
        Ok(())
    })
}
