//! Scales that are moving averages of the largest absolute value.

use super::{Levels, Rounding, channels, largest, levels};
use crate::attributes::{
    FakeQuantizeMovingAverageAttributes, QuantizeLinearAttributes, QuantizeLinearTrainingAttributes,
};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, elements, lend, scalar};
use crate::tensor::{View, ViewMut};

/// The weight of earlier values in [`quantize_linear`].
const LINEAR_RATE: f64 = 0.9;

/// Quantises numbers by a moving average of the largest absolute value, and updates the average. With `is_test`, the
/// given scale is used, and the average stays.
///
/// # Errors
/// [`Error::Shape`], [`Error::Length`], [`Error::Missing`] without an average in training, [`Error::Attribute`], and
/// [`Error::Type`].
pub fn fake_quantize_moving_average(
    out: &mut ViewMut<'_>,
    out_scale: Option<&mut ViewMut<'_>>,
    out_state: Option<&mut ViewMut<'_>>,
    out_accum: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    in_scale: &View<'_>,
    in_accum: Option<&View<'_>>,
    in_state: Option<&View<'_>>,
    with: &FakeQuantizeMovingAverageAttributes,
) -> Result<()> {
    let FakeQuantizeMovingAverageAttributes { moving_rate, bit_length, is_test, round_type, dequantize } =
        *with;
    let levels = Levels { largest: levels(bit_length)?, rounding: Rounding::new(round_type)?, dequantize };
    let around = channels(x.dims(), -1)?;
    with_float!(x.dtype(), T => {
        let average = if is_test {
            Average::kept(Some(in_scale), in_accum, in_state)?
        } else {
            Average::updated(x, in_accum, in_state, moving_rate)?
        };
        levels.quantize::<T>(out, x, &[average.scale as T], around)?;
        average.store::<T>(out_scale, out_state, out_accum)
    })
}

/// Updates a moving average of the largest absolute value, and copies the numbers.
///
/// # Errors
/// As [`fake_quantize_moving_average`].
pub fn moving_average_abs_max_scale(
    out: Option<&mut ViewMut<'_>>,
    out_scale: Option<&mut ViewMut<'_>>,
    out_state: Option<&mut ViewMut<'_>>,
    out_accum: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    in_accum: Option<&View<'_>>,
    in_state: Option<&View<'_>>,
    moving_rate: f64,
    is_test: bool,
) -> Result<()> {
    with_float!(x.dtype(), T => {
        let average = if is_test {
            Average::kept(None, in_accum, in_state)?
        } else {
            Average::updated(x, in_accum, in_state, moving_rate)?
        };
        if let Some(out) = out {
            expect_shape(x.dims(), out.dims())?;
            movement::copy(out, x)?;
        }
        average.store::<T>(out_scale, out_state, out_accum)
    })
}

/// Quantises numbers to levels up to `qmax`. In training, the scale is a moving average of the largest absolute value
/// or, with an axis, the largest one of each index; otherwise it is given. `only_observer` leaves the numbers as they
/// are.
///
/// # Errors
/// As [`fake_quantize_moving_average`], and [`Error::Axis`].
pub fn quantize_linear(
    out: &mut ViewMut<'_>,
    out_state: Option<&mut ViewMut<'_>>,
    out_accum: Option<&mut ViewMut<'_>>,
    out_scale: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: Option<&View<'_>>,
    in_accum: Option<&View<'_>>,
    in_state: Option<&View<'_>>,
    with: &QuantizeLinearAttributes,
) -> Result<()> {
    let QuantizeLinearAttributes { quant_axis, qmax, round_type, is_test, only_observer } = *with;
    let levels = Levels { largest: qmax as f64, rounding: Rounding::new(round_type)?, dequantize: false };
    let around = channels(x.dims(), quant_axis)?;
    with_float!(x.dtype(), T => {
        let of_average = |average: &Average| vec![average.scale as T];
        let (scales, average) = if is_test {
            let scale = scale.ok_or(Error::Missing { missing: "scale", because: "is_test" })?;
            (T::load(scale)?, None)
        } else if quant_axis < 0 {
            let average = Average::updated(x, in_accum, in_state, LINEAR_RATE)?;
            (of_average(&average), Some(average))
        } else {
            (largest(&elements::<T>(x)?, around), None)
        };
        expect_length("scale", around.len, scales.len())?;
        if only_observer {
            expect_shape(x.dims(), out.dims())?;
            movement::copy(out, x)?;
        } else {
            levels.quantize::<T>(out, x, &scales, around)?;
        }
        match (average, out_scale) {
            (Some(average), out_scale) => average.store::<T>(out_scale, out_state, out_accum),
            (None, Some(out_scale)) => {
                expect_length("out_scale", scales.len(), out_scale.len())?;
                T::store(out_scale, &scales)
            }
            (None, None) => Ok(()),
        }
    })
}

/// Computes [`quantize_linear`] in training.
///
/// # Errors
/// As [`quantize_linear`].
pub fn quantize_linear_training(
    out: &mut ViewMut<'_>,
    out_state: Option<&mut ViewMut<'_>>,
    out_accum: Option<&mut ViewMut<'_>>,
    out_scale: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    scale: &View<'_>,
    in_accum: Option<&View<'_>>,
    in_state: Option<&View<'_>>,
    with: &QuantizeLinearTrainingAttributes,
) -> Result<()> {
    let QuantizeLinearTrainingAttributes { quant_axis, qmax, round_type, only_observer } = *with;
    quantize_linear(
        out,
        out_state,
        out_accum,
        out_scale,
        x,
        Some(scale),
        in_accum,
        in_state,
        &QuantizeLinearAttributes { quant_axis, qmax, round_type, is_test: false, only_observer },
    )
}

/// Computes [`quantize_linear`] with given scales.
///
/// # Errors
/// As [`quantize_linear`].
pub fn quantize_by_scale(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scale: &View<'_>,
    with: &QuantizeLinearTrainingAttributes,
) -> Result<()> {
    let QuantizeLinearTrainingAttributes { quant_axis, qmax, round_type, only_observer } = *with;
    let scale = Some(scale);
    quantize_linear(
        out,
        None,
        None,
        None,
        x,
        scale,
        None,
        None,
        &QuantizeLinearAttributes { quant_axis, qmax, round_type, is_test: true, only_observer },
    )
}

/// A moving average: a weighted sum divided by the sum of the weights.
struct Average {
    scale: f64,
    accum: Option<f64>,
    state: Option<f64>,
}

impl Average {
    /// Returns the values that are given.
    fn kept(scale: Option<&View<'_>>, accum: Option<&View<'_>>, state: Option<&View<'_>>) -> Result<Self> {
        let [accum, state] = [("in_accum", accum), ("in_state", state)]
            .map(|(name, value)| value.map(|value| scalar(name, value)).transpose());
        let (accum, state) = (accum?, state?);
        let scale = match (scale, accum, state) {
            (Some(scale), ..) => scalar("in_scale", scale)?,
            (None, Some(accum), Some(state)) => accum / state,
            _ => 0.0,
        };
        Ok(Self { scale, accum, state })
    }

    /// Returns the average with the largest absolute value of some numbers. It is computed as the host does it, in
    /// the type of the numbers.
    fn updated(x: &View<'_>, accum: Option<&View<'_>>, state: Option<&View<'_>>, rate: f64) -> Result<Self> {
        let value = |name, value: Option<&View<'_>>| {
            scalar(name, value.ok_or(Error::Missing { missing: name, because: "training" })?)
        };
        let (accum, state) = (value("in_accum", accum)?, value("in_state", state)?);
        with_float!(x.dtype(), T => Self::updated_in::<T>(x, accum, state, rate))
    }

    /// Computes in the type `T`.
    fn updated_in<T: Float>(x: &View<'_>, accum: f64, state: f64, rate: f64) -> Result<Self> {
        let top = largest(&elements::<T>(x)?, channels(x.dims(), -1)?)[0];
        let [rate, accum, state] = [rate, accum, state].map(T::of);
        let (accum, state) = (rate * accum + top, rate * state + T::ONE);
        Ok(Self { scale: (accum / state).into(), accum: Some(accum.into()), state: Some(state.into()) })
    }

    /// Writes the values that are known and wanted.
    fn store<T: Float>(
        self,
        scale: Option<&mut ViewMut<'_>>,
        state: Option<&mut ViewMut<'_>>,
        accum: Option<&mut ViewMut<'_>>,
    ) -> Result<()> {
        let outs = [lend(scale), lend(state), lend(accum)];
        for (out, value) in outs.into_iter().zip([Some(self.scale), self.state, self.accum]) {
            if let (Some(mut out), Some(value)) = (out, value) {
                T::store(&mut out, &[T::of(value)])?;
            }
        }
        Ok(())
    }
}
