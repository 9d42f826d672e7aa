//! Variants of Adam.

use super::descent::norm;
use super::operand::{first, keep, masters, put, skips};
use crate::attributes::{LambAttributes, NadamAttributes, RadamAttributes};
use crate::elements::accumulate::with_float;
use crate::error::Result;
use crate::loops::movement::fill;
use crate::loops::slices::{lend, scalar};
use crate::loops::tiles::update;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// Updates a parameter by LAMB (You et al., 2020): Adam with decay, whose step has the norm of the parameter
/// times the learning rate.
///
/// `moment1 = beta1 * moment1 + (1 - beta1) * grad`, `moment2 = beta2 * moment2 + (1 - beta2) * grad²`, which
/// are divided by one minus the power of their beta to give `m` and `v`; `step = m / (sqrt(v) + epsilon) +
/// weight_decay * param`, and `param -= learning_rate * |param| / |step| * step`. The quotient of the norms
/// is replaced by 1 if either norm is zero, or if there is no decay and `always_adapt` is false. The powers
/// are those of the step, counted from 1; their outputs are those of the next step. Everything else is as for
/// [`adam`](super::adam()).
///
/// # Errors
/// As [`adam`](super::adam()).
pub fn lamb(
    param_out: &mut ViewMut<'_>,
    moment1_out: &mut ViewMut<'_>,
    moment2_out: &mut ViewMut<'_>,
    beta1_pow_out: Option<&mut ViewMut<'_>>,
    beta2_pow_out: Option<&mut ViewMut<'_>>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    moment1: &View<'_>,
    moment2: &View<'_>,
    beta1_pow: &View<'_>,
    beta2_pow: &View<'_>,
    master_param: Option<&View<'_>>,
    skip_update: Option<&View<'_>>,
    with: &LambAttributes,
) -> Result<()> {
    let LambAttributes { weight_decay, beta1, beta2, epsilon, always_adapt, multi_precision } = *with;
    if skips(skip_update)? {
        return keep([
            (Some(param_out.reborrow()), Some(param)),
            (Some(moment1_out.reborrow()), Some(moment1)),
            (Some(moment2_out.reborrow()), Some(moment2)),
            (lend(beta1_pow_out), Some(beta1_pow)),
            (lend(beta2_pow_out), Some(beta2_pow)),
            (lend(master_param_out), master_param.filter(|_| multi_precision)),
        ]);
    }
    let rate = scalar("learning_rate", learning_rate)?;
    let powers = [scalar("beta1_pow", beta1_pow)?, scalar("beta2_pow", beta2_pow)?];
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let mut step = with_float!(param.dtype(), T => Buffer::new(<T as crate::Element>::DTYPE, param.dims()))?;
    let outs = [Some(step.view_mut()?), Some(moment1_out.reborrow()), Some(moment2_out.reborrow())];
    let inputs = [Some(source), Some(grad), Some(moment1), Some(moment2)];
    with_float!(param.dtype(), T => {
        let [beta1, beta2, epsilon, decay] = [beta1, beta2, epsilon, weight_decay].map(|value| value as T);
        let [rest1, rest2] = powers.map(|power| 1.0 - power as T);
        update::<T, 3, 4>(outs, inputs, #[inline(always)] move |[param, grad, moment1, moment2]| {
            let moment1 = beta1 * moment1 + (1.0 - beta1) * grad;
            let moment2 = beta2 * moment2 + (1.0 - beta2) * grad * grad;
            let step = moment1 / rest1 / ((moment2 / rest2).sqrt() + epsilon) + decay * param;
            [step, moment1, moment2]
        })
    })?;
    let step = step.view()?;
    let (param_norm, step_norm) = (norm(source)?, norm(&step)?);
    let adapts = (always_adapt || weight_decay > 0.0) && param_norm > 0.0 && step_norm > 0.0;
    let rate = if adapts { rate * (param_norm / step_norm) } else { rate };
    with_float!(param.dtype(), T => {
        let rate = rate as T;
        let outs = [Some(param_out.reborrow()), master_out];
        update::<T, 2, 2>(outs, [Some(source), Some(&step)], #[inline(always)] move |[param, step]| {
            let param = param - rate * step;
            [param, param]
        })
    })?;
    for (out, value) in [(lend(beta1_pow_out), powers[0] * beta1), (lend(beta2_pow_out), powers[1] * beta2)] {
        if let Some(mut out) = out {
            put(&mut out, value)?;
        }
    }
    Ok(())
}

/// Updates a parameter by NAdam (Dozat, 2016): Adam with Nesterov's momentum.
///
/// With `d = 0.96 * momentum_decay_pow`, `mu = beta1 * (1 - 0.5 * d^momentum_decay)` and `next = beta1 * (1 -
/// 0.5 * (0.96 * d)^momentum_decay)`: `product = mu_product * mu`; the moments are those of Adam; `m = next *
/// moment1 / (1 - product * next) + (1 - mu) * grad / (1 - product)`, `v = moment2 / (1 - beta2_pow *
/// beta2)`, and `param -= learning_rate
/// * m / (sqrt(v) + epsilon)`. The outputs of the one-element states are `d`, `beta2_pow * beta2` and
///   `product`. Unlike
/// in Adam, the input powers are those of the previous step. Hosts may repeat the number of a state: then all
/// elements are equal. Everything else is as for [`adagrad`](super::adagrad()).
///
/// # Errors
/// As [`adagrad`](super::adagrad()).
pub fn nadam(
    param_out: &mut ViewMut<'_>,
    momentum_decay_pow_out: &mut ViewMut<'_>,
    beta2_pow_out: &mut ViewMut<'_>,
    mu_product_out: &mut ViewMut<'_>,
    moment1_out: &mut ViewMut<'_>,
    moment2_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    momentum_decay_pow: &View<'_>,
    beta2_pow: &View<'_>,
    mu_product: &View<'_>,
    moment1: &View<'_>,
    moment2: &View<'_>,
    master_param: Option<&View<'_>>,
    with: &NadamAttributes,
) -> Result<()> {
    let NadamAttributes { beta1, beta2, epsilon, momentum_decay, multi_precision } = *with;
    let rate = scalar("learning_rate", learning_rate)?;
    let decay_power = first(momentum_decay_pow)? * 0.96;
    let power = first(beta2_pow)? * beta2;
    let mu = beta1 * (1.0 - 0.5 * decay_power.powf(momentum_decay));
    let next = beta1 * (1.0 - 0.5 * (0.96 * decay_power).powf(momentum_decay));
    let product = first(mu_product)? * mu;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs =
        [Some(param_out.reborrow()), Some(moment1_out.reborrow()), Some(moment2_out.reborrow()), master_out];
    let inputs = [Some(source), Some(grad), Some(moment1), Some(moment2)];
    with_float!(param.dtype(), T => {
        let [rate, beta1, beta2, epsilon] = [rate, beta1, beta2, epsilon].map(|value| value as T);
        let (ahead, here) = (next / (1.0 - product * next), (1.0 - mu) / (1.0 - product));
        let [ahead, here, rest] = [ahead, here, 1.0 - power].map(|value| value as T);
        update::<T, 4, 4>(outs, inputs, #[inline(always)] move |[param, grad, moment1, moment2]| {
            let moment1 = beta1 * moment1 + (1.0 - beta1) * grad;
            let moment2 = beta2 * moment2 + (1.0 - beta2) * grad * grad;
            let descent = ahead * moment1 + here * grad;
            let param = param - rate * descent / ((moment2 / rest).sqrt() + epsilon);
            [param, moment1, moment2, param]
        })
    })?;
    fill(momentum_decay_pow_out, decay_power)?;
    fill(beta2_pow_out, power)?;
    fill(mu_product_out, product)
}

/// Updates a parameter by RAdam (Liu et al., 2020): Adam that uses the second moment only once its variance
/// is low enough.
///
/// With the powers times their betas, `rho = (rho * (beta2 - beta2_pow) + beta2_pow) / (1 - beta2_pow)`,
/// which is the number of the step times its power divided by one minus the power, and `rho_inf = 2 / (1 -
/// beta2) - 1`, `rho_t = rho_inf - 2 * rho`: the moments are those of Adam and `m = moment1 / (1 -
/// beta1_pow)`. If `rho_t > 5`, `param -= learning_rate * m * sqrt((rho_t - 4)
/// * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)) * sqrt(1 - beta2_pow) / (sqrt(moment2) + epsilon)`,
/// and otherwise `param -= learning_rate * m`. The input powers are those of the previous step. States are as
/// for
/// [`nadam`], everything else is as for [`adagrad`](super::adagrad()).
///
/// # Errors
/// As [`adagrad`](super::adagrad()).
pub fn radam(
    param_out: &mut ViewMut<'_>,
    beta1_pow_out: &mut ViewMut<'_>,
    beta2_pow_out: &mut ViewMut<'_>,
    rho_out: &mut ViewMut<'_>,
    moment1_out: &mut ViewMut<'_>,
    moment2_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    learning_rate: &View<'_>,
    beta1_pow: &View<'_>,
    beta2_pow: &View<'_>,
    rho: &View<'_>,
    moment1: &View<'_>,
    moment2: &View<'_>,
    master_param: Option<&View<'_>>,
    with: &RadamAttributes,
) -> Result<()> {
    let RadamAttributes { beta1, beta2, epsilon, multi_precision } = *with;
    let rate = scalar("learning_rate", learning_rate)?;
    let power1 = first(beta1_pow)? * beta1;
    let power2 = first(beta2_pow)? * beta2;
    let rho = (first(rho)? * (beta2 - power2) + power2) / (1.0 - power2);
    let limit = 2.0 / (1.0 - beta2) - 1.0;
    let length = limit - 2.0 * rho;
    let measured = length > 5.0;
    let rectified =
        ((length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length)).sqrt();
    let factor = rate / (1.0 - power1) * if measured { rectified * (1.0 - power2).sqrt() } else { 1.0 };
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let outs =
        [Some(param_out.reborrow()), Some(moment1_out.reborrow()), Some(moment2_out.reborrow()), master_out];
    let inputs = [Some(source), Some(grad), Some(moment1), Some(moment2)];
    with_float!(param.dtype(), T => {
        let [factor, beta1, beta2, epsilon] = [factor, beta1, beta2, epsilon].map(|value| value as T);
        update::<T, 4, 4>(outs, inputs, #[inline(always)] move |[param, grad, moment1, moment2]| {
            let moment1 = beta1 * moment1 + (1.0 - beta1) * grad;
            let moment2 = beta2 * moment2 + (1.0 - beta2) * grad * grad;
            let scale = if measured { moment2.sqrt() + epsilon } else { 1.0 };
            let param = param - factor * moment1 / scale;
            [param, moment1, moment2, param]
        })
    })?;
    fill(beta1_pow_out, power1)?;
    fill(beta2_pow_out, power2)?;
    fill(rho_out, rho)
}
