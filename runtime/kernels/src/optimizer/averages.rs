//! Sums of parameters over a window of steps, for averaging.

use super::operand::put;
use crate::attributes::AverageAccumulatesAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result};
use crate::loops::slices::integers;
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// The number of steps after which a sum is added to the next, so that precision is not lost.
const MAX_ACCUMULATES: i64 = 16_384;

/// Adds a parameter to the sum of its values in the previous steps.
///
/// The sum has three parts, each with the shape of the parameter: `sum_1` of the latest steps, `sum_2` of the
/// earlier steps in the window, and `sum_3` of the previous window. The window ends when it is at least as
/// long as `min_average_window` and as the lesser of `max_average_window` and `average_window` times the
/// number of updates. Counters have one element. Outputs may share the memory of their inputs.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], [`Error::Length`], [`Error::Attribute`] if the minimum window is longer
/// than the
/// maximum.
pub fn average_accumulates(
    out_sum_1: &mut ViewMut<'_>,
    out_sum_2: &mut ViewMut<'_>,
    out_sum_3: &mut ViewMut<'_>,
    out_num_accumulates: &mut ViewMut<'_>,
    out_old_num_accumulates: &mut ViewMut<'_>,
    out_num_updates: &mut ViewMut<'_>,
    param: &View<'_>,
    in_sum_1: &View<'_>,
    in_sum_2: &View<'_>,
    in_sum_3: &View<'_>,
    in_num_accumulates: &View<'_>,
    in_old_num_accumulates: &View<'_>,
    in_num_updates: &View<'_>,
    with: &AverageAccumulatesAttributes,
) -> Result<()> {
    let AverageAccumulatesAttributes { average_window, max_average_window, min_average_window } = *with;
    if min_average_window > max_average_window {
        return Err(Error::Attribute { name: "min_average_window", value: min_average_window.to_string() });
    }
    let accumulates = counter("in_num_accumulates", in_num_accumulates)? + 1;
    let old = counter("in_old_num_accumulates", in_old_num_accumulates)?;
    let updates = counter("in_num_updates", in_num_updates)? + 1;
    let moves = updates % MAX_ACCUMULATES == 0;
    // As in Paddle's kernel: in single precision, without the fraction.
    let longest = max_average_window.min((updates as f32 * average_window as f32) as i64);
    let ends = accumulates >= min_average_window && accumulates >= longest;
    let outs = [Some(out_sum_1.reborrow()), Some(out_sum_2.reborrow()), Some(out_sum_3.reborrow())];
    let inputs = [Some(param), Some(in_sum_1), Some(in_sum_2), Some(in_sum_3)];
    with_float!(param.dtype(), T => {
        update::<T, 3, 4>(outs, inputs, #[inline(always)] move |[param, sum1, sum2, sum3]| match (ends, moves) {
            (true, _) => [0.0, 0.0, sum1 + param + sum2],
            (false, true) => [0.0, sum2 + (sum1 + param), sum3],
            (false, false) => [sum1 + param, sum2, sum3],
        })
    })?;
    put(out_num_accumulates, if ends { 0.0 } else { accumulates as f64 })?;
    put(out_old_num_accumulates, if ends { accumulates } else { old } as f64)?;
    put(out_num_updates, updates as f64)
}

fn counter(what: &'static str, view: &View<'_>) -> Result<i64> {
    crate::expect_length(what, 1, view.len())?;
    Ok(integers(view)?[0])
}
