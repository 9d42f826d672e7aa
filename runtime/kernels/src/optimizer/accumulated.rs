//! Optimizers whose step size depends on accumulated gradients.

use super::operand::{masters, state};
use crate::attributes::{AdadeltaAttributes, AdamaxAttributes, RmspropAttributes};
use crate::elements::accumulate::with_float;
use crate::error::Result;
use crate::loops::slices::scalar;
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// Updates a parameter by Adagrad (Duchi et al., 2011): `moment += grad²`, `param -= learning_rate * grad /
/// (sqrt(moment) + epsilon)`.
///
/// The learning rate has one element; all other tensors have the same shape. With `multi_precision`, the step
/// updates the master parameter, and the parameter is a copy of it. Outputs may share the memory of their
/// inputs.
///
/// # Errors
/// As [`sgd`](super::sgd()).
pub fn adagrad(
    param_out: &mut ViewMut<'_>,
    moment_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    moment: &View<'_>,
    learning_rate: &View<'_>,
    master_param: Option<&View<'_>>,
    epsilon: f64,
    multi_precision: bool,
) -> Result<()> {
    let rate = scalar("learning_rate", learning_rate)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs = [Some(param_out.reborrow()), Some(moment_out.reborrow()), master_out];
    with_float!(param.dtype(), T => {
        let [rate, epsilon] = [rate, epsilon].map(|value| value as T);
        update::<T, 3, 3>(outs, [Some(source), Some(grad), Some(moment)], #[inline(always)] move |[param, grad, moment]| {
            let moment = moment + grad * grad;
            let param = param - rate * grad / (moment.sqrt() + epsilon);
            [param, moment, param]
        })
    })
}

/// Updates a parameter by Adagrad with decay: `moment = decay * moment + (1 - decay) * grad²`, `param -= learning_rate
/// * grad / (sqrt(moment) + epsilon)`.
///
/// # Errors
/// As [`adagrad`].
pub fn decayed_adagrad(
    param_out: &mut ViewMut<'_>,
    moment_out: &mut ViewMut<'_>,
    param: &View<'_>,
    grad: &View<'_>,
    moment: &View<'_>,
    learning_rate: &View<'_>,
    decay: f64,
    epsilon: f64,
) -> Result<()> {
    let rate = scalar("learning_rate", learning_rate)?;
    let outs = [Some(param_out.reborrow()), Some(moment_out.reborrow())];
    with_float!(param.dtype(), T => {
        let [rate, decay, epsilon] = [rate, decay, epsilon].map(|value| value as T);
        update::<T, 2, 3>(outs, [Some(param), Some(grad), Some(moment)], #[inline(always)] move |[param, grad, moment]| {
            let moment = decay * moment + (1.0 - decay) * grad * grad;
            [param - rate * grad / (moment.sqrt() + epsilon), moment]
        })
    })
}

/// Updates a parameter by Adadelta (Zeiler, 2012).
///
/// `avg_squared_grad = rho * avg_squared_grad + (1 - rho) * grad²`, `step = grad * sqrt((avg_squared_update +
/// epsilon) / (avg_squared_grad + epsilon))`, `avg_squared_update = rho * avg_squared_update + (1 - rho) *
/// step²`, and `param -= learning_rate * step`. Everything else is as for [`adagrad`].
///
/// # Errors
/// As [`adagrad`].
pub fn adadelta(
    param_out: &mut ViewMut<'_>,
    avg_squared_grad_out: &mut ViewMut<'_>,
    avg_squared_update_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    avg_squared_grad: &View<'_>,
    avg_squared_update: &View<'_>,
    learning_rate: &View<'_>,
    master_param: Option<&View<'_>>,
    with: &AdadeltaAttributes,
) -> Result<()> {
    let AdadeltaAttributes { rho, epsilon, multi_precision } = *with;
    let rate = scalar("learning_rate", learning_rate)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs = [
        Some(param_out.reborrow()),
        Some(avg_squared_grad_out.reborrow()),
        Some(avg_squared_update_out.reborrow()),
        master_out,
    ];
    let inputs = [Some(source), Some(grad), Some(avg_squared_grad), Some(avg_squared_update)];
    with_float!(param.dtype(), T => {
        let [rate, rho, epsilon] = [rate, rho, epsilon].map(|value| value as T);
        update::<T, 4, 4>(outs, inputs, #[inline(always)] move |[param, grad, square, step_square]| {
            let square = rho * square + (1.0 - rho) * grad * grad;
            let step = (step_square + epsilon).sqrt() / (square + epsilon).sqrt() * grad;
            let step_square = rho * step_square + (1.0 - rho) * step * step;
            let param = param - rate * step;
            [param, square, step_square, param]
        })
    })
}

/// Updates a parameter by Adamax (Kingma and Ba, 2015).
///
/// `moment = beta1 * moment + (1 - beta1) * grad`, `inf_norm = max(|grad|, beta2 * inf_norm + epsilon)`, and
/// `param -= learning_rate / (1 - beta1_pow) * moment / inf_norm`. The learning rate and the power have one
/// element. Everything else is as for
/// [`adagrad`].
///
/// # Errors
/// As [`adagrad`].
pub fn adamax(
    param_out: &mut ViewMut<'_>,
    moment_out: &mut ViewMut<'_>,
    inf_norm_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    moment: &View<'_>,
    inf_norm: &View<'_>,
    beta1_pow: &View<'_>,
    master_param: Option<&View<'_>>,
    with: &AdamaxAttributes,
) -> Result<()> {
    let AdamaxAttributes { beta1, beta2, epsilon, multi_precision } = *with;
    let rate = scalar("learning_rate", learning_rate)?;
    let power = scalar("beta1_pow", beta1_pow)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs =
        [Some(param_out.reborrow()), Some(moment_out.reborrow()), Some(inf_norm_out.reborrow()), master_out];
    let inputs = [Some(source), Some(grad), Some(moment), Some(inf_norm)];
    with_float!(param.dtype(), T => {
        let [rate, power, beta1, beta2, epsilon] =
            [rate, power, beta1, beta2, epsilon].map(|value| value as T);
        let rate = rate / (1.0 - power);
        update::<T, 4, 4>(outs, inputs, #[inline(always)] move |[param, grad, moment, norm]| {
            let moment = beta1 * moment + (1.0 - beta1) * grad;
            let decayed = beta2 * norm + epsilon;
            let norm = if grad.abs() > decayed { grad.abs() } else { decayed };
            let param = param - rate * (moment / norm);
            [param, moment, norm, param]
        })
    })
}

/// Updates a parameter by RMSProp (Hinton, 2012).
///
/// `mean_square = decay * mean_square + (1 - decay) * grad²`, `moment = momentum * moment + learning_rate *
/// grad / sqrt(mean_square + epsilon)`, and `param -= moment`. With `centered`, `mean_grad = decay *
/// mean_grad + (1 - decay) * grad`, and its square is subtracted under the square root. Everything else is as
/// for [`adagrad`].
///
/// # Errors
/// As [`adagrad`].
pub fn rmsprop(
    param_out: &mut ViewMut<'_>,
    moment_out: &mut ViewMut<'_>,
    mean_square_out: &mut ViewMut<'_>,
    mean_grad_out: Option<&mut ViewMut<'_>>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    mean_square: &View<'_>,
    grad: &View<'_>,
    moment: &View<'_>,
    learning_rate: &View<'_>,
    mean_grad: Option<&View<'_>>,
    master_param: Option<&View<'_>>,
    with: &RmspropAttributes,
) -> Result<()> {
    let RmspropAttributes { epsilon, decay, momentum, centered, multi_precision } = *with;
    let rate = scalar("learning_rate", learning_rate)?;
    let (mean, mean_out) = state(centered, "centered", "mean_grad", mean_grad, mean_grad_out)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs = [
        Some(param_out.reborrow()),
        Some(mean_square_out.reborrow()),
        Some(moment_out.reborrow()),
        mean_out,
        master_out,
    ];
    let inputs = [Some(source), Some(grad), Some(mean_square), Some(moment), mean];
    with_float!(param.dtype(), T => {
        let [rate, decay, momentum, epsilon] = [rate, decay, momentum, epsilon].map(|value| value as T);
        update::<T, 5, 5>(outs, inputs, #[inline(always)] move |[param, grad, square, moment, mean]| {
            let square = decay * square + (1.0 - decay) * grad * grad;
            let mean = if centered { decay * mean + (1.0 - decay) * grad } else { mean };
            let spread = if centered { square - mean * mean + epsilon } else { square + epsilon };
            let moment = momentum * moment + rate * grad / spread.sqrt();
            let param = param - moment;
            [param, square, moment, mean, param]
        })
    })
}
