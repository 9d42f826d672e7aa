//! Gradient descent, with or without momentum.

use super::operand::{all, expect_lists, masters, nth};
use crate::attributes::{LarsMomentumAttributes, MergedMomentumAttributes, MomentumAttributes};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float as _;
use crate::error::{Error, Result};
use crate::loops::slices::{Slot, scalar};
use crate::loops::tiles::update;
use crate::tensor::{View, ViewMut};

/// Updates a parameter by gradient descent: `param_out = param - learning_rate * grad`.
///
/// The learning rate has one element; all other tensors have the same shape. With `multi_precision`, the step
/// updates the master parameter, and the parameter is a copy of it. Outputs may share the memory of their
/// inputs.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] unless the parameter is floating-point, [`Error::Missing`], [`Error::Length`].
pub fn sgd(
    param_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    learning_rate: &View<'_>,
    grad: &View<'_>,
    master_param: Option<&View<'_>>,
    multi_precision: bool,
) -> Result<()> {
    let rate = scalar("learning_rate", learning_rate)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    with_float!(param.dtype(), T => {
        let rate = rate as T;
        update::<T, 2, 2>([Some(param_out.reborrow()), master_out], [Some(source), Some(grad)], move |[param, grad]| {
            let param = param - rate * grad;
            [param, param]
        })
    })
}

/// Updates a parameter by gradient descent with momentum.
///
/// With `g = rescale_grad * grad`: `velocity = mu * velocity + g`, and `param -= learning_rate * velocity`,
/// or, with `use_nesterov`, `param -= learning_rate * (g + mu * velocity)`. `regularization_method` is
/// `l2_decay`, which adds `regularization_coeff * param` to `g`, or empty. A subnormal `velocity` becomes
/// zero. Everything else is as for [`sgd`].
///
/// # Errors
/// As [`sgd`], and [`Error::Attribute`] for an unknown regularization.
pub fn momentum(
    param_out: &mut ViewMut<'_>,
    velocity_out: &mut ViewMut<'_>,
    master_param_out: Option<&mut ViewMut<'_>>,
    param: &View<'_>,
    grad: &View<'_>,
    velocity: &View<'_>,
    learning_rate: &View<'_>,
    master_param: Option<&View<'_>>,
    with: &MomentumAttributes<'_>,
) -> Result<()> {
    let MomentumAttributes {
        mu,
        use_nesterov,
        regularization_method,
        regularization_coeff,
        multi_precision,
        rescale_grad,
    } = *with;
    let decay = match regularization_method {
        "" => None,
        "l2_decay" => Some(regularization_coeff),
        other => return Err(Error::Attribute { name: "regularization_method", value: other.to_owned() }),
    };
    let rate = scalar("learning_rate", learning_rate)?;
    let (source, master_out) = masters(param, grad, master_param, master_param_out, multi_precision)?;
    let inputs = [Some(source), Some(grad), Some(velocity)];
    with_float!(param.dtype(), T => {
        let [rate, mu, rescale] = [rate, mu, rescale_grad].map(|value| value as T);
        let (decays, decay) = (decay.is_some(), decay.unwrap_or_default() as T);
        update::<T, 3, 3>(
            [Some(param_out.reborrow()), Some(velocity_out.reborrow()), master_out],
            inputs,
            move |[param, grad, velocity]| {
                let grad = grad * rescale;
                // Zero times an infinite parameter would be NaN.
                let grad = if decays { grad + decay * param } else { grad };
                let velocity = (velocity * mu + grad).normal_or_zero();
                let descent = if use_nesterov { grad + velocity * mu } else { velocity };
                let param = param - rate * descent;
                [param, velocity, param]
            },
        )
    })
}

/// Updates several parameters by [`momentum`].
///
/// Regularizations are given for each parameter, or for none. The parameters may share one learning rate.
///
/// # Errors
/// As [`momentum`], and [`Error::Length`] if lists have different lengths.
pub fn merged_momentum(
    param_out: &mut [Option<ViewMut<'_>>],
    velocity_out: &mut [Option<ViewMut<'_>>],
    master_param_out: &mut [Option<ViewMut<'_>>],
    param: &[View<'_>],
    grad: &[View<'_>],
    velocity: &[View<'_>],
    learning_rate: &[View<'_>],
    master_param: Option<&[View<'_>]>,
    with: &MergedMomentumAttributes<'_>,
) -> Result<()> {
    let MergedMomentumAttributes {
        mu,
        use_nesterov,
        regularization_method,
        regularization_coeff,
        multi_precision,
        rescale_grad,
    } = *with;
    let count = param.len();
    expect_lists(
        count,
        [
            ("param_out", param_out.len()),
            ("velocity_out", velocity_out.len()),
            ("grad", grad.len()),
            ("velocity", velocity.len()),
        ],
    )?;
    if learning_rate.len() != 1 {
        expect_lists(count, [("learning_rate", learning_rate.len())])?;
    }
    if !regularization_method.is_empty() {
        let lengths = [regularization_method.len(), regularization_coeff.len()];
        expect_lists(count, [("regularization_method", lengths[0]), ("regularization_coeff", lengths[1])])?;
    }
    let params = all("param_out", param_out)?;
    let velocities = all("velocity_out", velocity_out)?;
    for (n, (mut param_out, mut velocity_out)) in params.into_iter().zip(velocities).enumerate() {
        momentum(
            &mut param_out,
            &mut velocity_out,
            master_param_out.get_mut(n).and_then(Option::as_mut),
            &param[n],
            &grad[n],
            &velocity[n],
            &learning_rate[n % learning_rate.len()],
            nth(master_param, n),
            &MomentumAttributes {
                mu,
                use_nesterov,
                regularization_method: regularization_method.get(n).copied().unwrap_or_default(),
                regularization_coeff: regularization_coeff.get(n).copied().unwrap_or_default(),
                multi_precision,
                rescale_grad,
            },
        )?;
    }
    Ok(())
}

/// Updates several parameters by layer-wise adaptive rate scaling (You et al., 2017).
///
/// With `g = rescale_grad * grad` and the norms of the parameter and of `g`: `rate = learning_rate *
/// lars_coeff * |param| / (|g| + weight_decay * |param| + epsilon)`, or the learning rate itself if the decay
/// or a norm is zero; `velocity = mu * velocity + rate * (g + weight_decay * param)`, and `param -=
/// velocity`.
///
/// # Errors
/// As [`sgd`], and [`Error::Length`] if lists have different lengths.
pub fn lars_momentum(
    param_out: &mut [Option<ViewMut<'_>>],
    velocity_out: &mut [Option<ViewMut<'_>>],
    master_param_out: &mut [Option<ViewMut<'_>>],
    param: &[View<'_>],
    velocity: &[View<'_>],
    learning_rate: &[View<'_>],
    grad: &[View<'_>],
    master_param: Option<&[View<'_>]>,
    with: &LarsMomentumAttributes<'_>,
) -> Result<()> {
    let LarsMomentumAttributes { weight_decay, mu, lars_coeff, epsilon, multi_precision, rescale_grad } =
        *with;
    let lengths = [
        ("param_out", param_out.len()),
        ("velocity_out", velocity_out.len()),
        ("velocity", velocity.len()),
        ("learning_rate", learning_rate.len()),
        ("grad", grad.len()),
        ("weight_decay", weight_decay.len()),
    ];
    expect_lists(param.len(), lengths)?;
    let params = all("param_out", param_out)?;
    let velocities = all("velocity_out", velocity_out)?;
    for (n, (mut param_out, mut velocity_out)) in params.into_iter().zip(velocities).enumerate() {
        let master_out = master_param_out.get_mut(n).and_then(Option::as_mut);
        let (source, master_out) =
            masters(&param[n], &grad[n], nth(master_param, n), master_out, multi_precision)?;
        let rate = scalar("learning_rate", &learning_rate[n])?;
        let (param_norm, grad_norm) = (norm(source)?, rescale_grad.abs() * norm(&grad[n])?);
        let decay = weight_decay[n];
        let rate = if decay > 0.0 && param_norm > 0.0 && grad_norm > 0.0 {
            rate * lars_coeff * param_norm / (grad_norm + decay * param_norm + epsilon)
        } else {
            rate
        };
        let inputs = [Some(source), Some(&grad[n]), Some(&velocity[n])];
        with_float!(param[n].dtype(), T => {
            let [mu, rate, decay, rescale] = [mu, rate, decay, rescale_grad].map(|value| value as T);
            update::<T, 3, 3>(
                [Some(param_out.reborrow()), Some(velocity_out.reborrow()), master_out],
                inputs,
                move |[param, grad, velocity]| {
                    let velocity = (velocity * mu + rate * (rescale * grad + decay * param)).normal_or_zero();
                    let param = param - velocity;
                    [param, velocity, param]
                },
            )
        })?;
    }
    Ok(())
}

/// Computes the Euclidean norm of all elements.
pub(super) fn norm(tensor: &View<'_>) -> Result<f64> {
    let squares = <f64 as Slot>::load(tensor)?.into_iter().map(|value| value * value);
    Ok(squares.sum::<f64>().sqrt())
}
