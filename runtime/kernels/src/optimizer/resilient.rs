//! Rprop and stochastic average gradient.

use super::operand::masters;
use crate::elements::accumulate::with_float;
use crate::error::Result;
use crate::loops::slices::{Slot, scalar};
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// Updates a parameter by Rprop (Riedmiller and Braun, 1993): each element has its own learning rate.
///
/// The rate is multiplied by `etas[1]` if the gradient has the same sign as before. If the sign has changed,
/// the rate is multiplied by `etas[0]` and the gradient is set to zero. The rate stays in
/// `learning_rate_range`. `param -= learning_rate * sign(grad)`, and `prev_out` is the gradient.
/// `learning_rate_range` and `etas` have two elements; all other tensors have the same shape. Everything else
/// is as for
/// [`sgd`](super::sgd()).
///
/// # Errors
/// As [`sgd`](super::sgd()).
pub fn rprop(
    param_out: &mut ViewMut<'_>,
    prev_out: &mut ViewMut<'_>,
    learning_rate_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    prev: &View<'_>,
    learning_rate: &View<'_>,
    master_param: Option<&View<'_>>,
    learning_rate_range: &View<'_>,
    etas: &View<'_>,
    multi_precision: bool,
) -> Result<()> {
    let [low, high] = pair("learning_rate_range", learning_rate_range)?;
    let [shrink, grow] = pair("etas", etas)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs = [
        Some(param_out.reborrow()),
        Some(prev_out.reborrow()),
        Some(learning_rate_out.reborrow()),
        master_out,
    ];
    let inputs = [Some(source), Some(grad), Some(prev), Some(learning_rate)];
    with_float!(param.dtype(), T => {
        let [low, high, shrink, grow] = [low, high, shrink, grow].map(|value| value as T);
        update::<T, 4, 4>(outs, inputs, #[inline(always)] move |[param, grad, prev, rate]| {
            let product = grad * prev;
            let eta = if product > 0.0 { grow } else if product < 0.0 { shrink } else { 1.0 };
            let grad = if product < 0.0 { 0.0 } else { grad };
            let rate = rate * eta;
            let rate = if rate > high { high } else if rate < low { low } else { rate };
            let sign = if grad > 0.0 { 1.0 } else if grad < 0.0 { -1.0 } else { grad };
            let param = param - sign * rate;
            [param, grad, rate, param]
        })
    })
}

/// Updates a parameter by stochastic average gradient: `d_out = d - y + grad`, `y_out = grad`, `param -= learning_rate
/// / n * d_out`.
///
/// `d` is the sum of the last `n` gradients, and `y` the oldest of them. The learning rate and `n` have one
/// element. Everything else is as for [`sgd`](super::sgd()).
///
/// # Errors
/// As [`sgd`](super::sgd()).
pub fn asgd(
    param_out: &mut ViewMut<'_>,
    d_out: &mut ViewMut<'_>,
    y_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    d: &View<'_>,
    y: &View<'_>,
    n: &View<'_>,
    master_param: Option<&View<'_>>,
    multi_precision: bool,
) -> Result<()> {
    let (rate, count) = (scalar("learning_rate", learning_rate)?, scalar("n", n)?);
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs = [Some(param_out.reborrow()), Some(d_out.reborrow()), Some(y_out.reborrow()), master_out];
    with_float!(param.dtype(), T => {
        let rate = rate as T / count as T;
        update::<T, 4, 4>(outs, [Some(source), Some(grad), Some(d), Some(y)], #[inline(always)] move |[param, grad, d, y]| {
            let d = d - y + grad;
            let param = param - rate * d;
            [param, d, grad, param]
        })
    })
}

fn pair(what: &'static str, view: &View<'_>) -> Result<[f64; 2]> {
    crate::expect_length(what, 2, view.len())?;
    let values = f64::load(view)?;
    Ok([values[0], values[1]])
}
