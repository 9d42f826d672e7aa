//! The loss scale of mixed-precision training.

use super::operand::{all, put};
use crate::attributes::UpdateLossScalingAttributes;
use crate::elements::accumulate::with_float;
use crate::error::Result;
use crate::loops::movement;
use crate::loops::slices::{Slot, integers, scalar};
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// Divides gradients by a one-element loss scale, and tests whether any element of a gradient is infinite or
/// NaN.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type) unless the gradients are floating-point,
/// [`Error::Length`](crate::Error::Length).
pub fn check_finite_and_unscale(
    outs: &mut [Option<ViewMut<'_>>],
    found_infinite: &mut ViewMut<'_>,
    xs: &[View<'_>],
    scale: &View<'_>,
) -> Result<()> {
    crate::expect_length("outs", xs.len(), outs.len())?;
    let scale = scalar("scale", scale)?;
    let mut found = false;
    for (mut out, x) in all("outs", outs)?.into_iter().zip(xs) {
        with_float!(x.dtype(), T => {
            found = found || T::load(x)?.iter().any(|value| !value.is_finite());
            let inverse = 1.0 / scale as T;
            update::<T, 1, 1>([Some(out.reborrow())], [Some(x)], move |[x]| [x * inverse])
        })?;
    }
    put(found_infinite, f64::from(u8::from(found)))
}

/// Adapts the loss scale: reduces it after steps with infinite gradients, and increases it after steps
/// without.
///
/// After `decr_every_n_nan_or_inf` consecutive infinite steps, the scale is multiplied by `decr_ratio`, but
/// does not go below 1. After `incr_every_n_steps` consecutive finite steps, it is multiplied by
/// `incr_ratio`, if the result is finite. After an infinite step the gradients are set to zero; otherwise
/// they are copied. With `stop_update`, the scale stays unchanged. The scale and the counters have one
/// element.
///
/// # Errors
/// As [`check_finite_and_unscale`].
pub fn update_loss_scaling(
    outs: &mut [Option<ViewMut<'_>>],
    loss_scaling: &mut ViewMut<'_>,
    out_good_steps: &mut ViewMut<'_>,
    out_bad_steps: &mut ViewMut<'_>,
    xs: &[View<'_>],
    found_infinite: &View<'_>,
    prev_loss_scaling: &View<'_>,
    in_good_steps: &View<'_>,
    in_bad_steps: &View<'_>,
    with: &UpdateLossScalingAttributes,
) -> Result<()> {
    let UpdateLossScalingAttributes {
        incr_every_n_steps,
        decr_every_n_nan_or_inf,
        incr_ratio,
        decr_ratio,
        stop_update,
    } = *with;
    crate::expect_length("outs", xs.len(), outs.len())?;
    let infinite = scalar("found_infinite", found_infinite)? != 0.0;
    let count = |what, view: &View<'_>| -> Result<i64> {
        crate::expect_length(what, 1, view.len())?;
        Ok(integers(view)?[0])
    };
    let old = scalar("prev_loss_scaling", prev_loss_scaling)?;
    let (mut good, mut bad) = (count("in_good_steps", in_good_steps)?, count("in_bad_steps", in_bad_steps)?);
    let mut scaling = old;
    if infinite {
        (good, bad) = (0, bad + 1);
        if bad == decr_every_n_nan_or_inf {
            scaling = (old * decr_ratio).max(1.0);
            bad = 0;
        }
    } else {
        (good, bad) = (good + 1, 0);
        if good == incr_every_n_steps {
            let larger = old * incr_ratio;
            scaling = if larger as f32 == f32::INFINITY { old } else { larger };
            good = 0;
        }
    }
    for (mut out, x) in all("outs", outs)?.into_iter().zip(xs) {
        if infinite {
            movement::zero(&mut out)?;
        } else {
            movement::copy(&mut out, x)?;
        }
    }
    if stop_update {
        return Ok(());
    }
    put(loss_scaling, scaling)?;
    put(out_good_steps, good as f64)?;
    put(out_bad_steps, bad as f64)
}
