//! Rules for optimizer steps. The formulas are those in PyTorch's documentation (`torch.optim`).
//!
//! Half precision is computed in `float32`: each parameter and each part of its state is rounded once, when it is
//! stored.

#![allow(clippy::too_many_arguments, reason = "a step has many numbers and tensors")]

use tenon::device::{DataType, Error, Result, Status};
use tenon_operators::attributes::{AdadeltaAttributes, AdamwAttributes, PNormAttributes, SumAttributes};

use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Number, Tensor, wide};

/// Performs a step of stochastic gradient descent.
pub(crate) fn sgd(
    call: &Call,
    param: &Tensor<'_>,
    buffer: Option<&Tensor<'_>>,
    grad: &Tensor<'_>,
    rate: f64,
    momentum: f64,
    dampening: f64,
    decay: f64,
    nesterov: bool,
) -> Result<()> {
    let mut grad = decayed(call, grad, param, decay)?;
    match buffer.filter(|_| momentum != 0.0) {
        Some(buffer) => {
            let kept = terms::scale(call, &widened(call, buffer)?, momentum, 0.0)?;
            let sum = terms::add_scaled(call, &kept, &grad, 1.0 - dampening)?;
            call.copy(buffer, &sum)?;
            grad = if nesterov { terms::add_scaled(call, &grad, &sum, momentum)? } else { sum };
        }
        // As in PyTorch's first step, in which the momentum buffer is the gradient.
        None if momentum != 0.0 && nesterov => grad = terms::scale(call, &grad, 1.0 + momentum, 0.0)?,
        None => {}
    }
    descend(call, param, &grad, rate)
}

/// Subtracts a step from the parameters.
fn descend(call: &Call, param: &Tensor<'_>, step: &Tensor<'_>, rate: f64) -> Result<()> {
    call.copy(param, &terms::add_scaled(call, &widened(call, param)?, step, -rate)?)
}

/// Returns the tensor in the type in which steps are computed.
fn widened<'c>(call: &'c Call, tensor: &Tensor<'c>) -> Result<Tensor<'c>> {
    call.to_type(tensor, wide(tensor.data_type()))
}

/// The numbers of a step of Adam.
pub(crate) struct Adam {
    rate: f64,
    betas: [f64; 2],
    epsilon: f64,
    decay: f64,
    amsgrad: bool,
}

/// Collects the numbers of a step of Adam.
#[allow(clippy::unnecessary_wraps, reason = "as for other rules")]
pub(crate) fn adam_settings(
    _call: &Call,
    rate: impl Into<f64>,
    beta1: impl Into<f64>,
    beta2: impl Into<f64>,
    epsilon: impl Into<f64>,
    decay: impl Into<f64>,
    amsgrad: bool,
) -> Result<Adam> {
    let betas = [beta1.into(), beta2.into()];
    Ok(Adam { rate: rate.into(), betas, epsilon: epsilon.into(), decay: decay.into(), amsgrad })
}

/// Performs a step of Adam, or of AdamW if the decay is independent of the gradients.
pub(crate) fn adam(
    call: &Call,
    param: &Tensor<'_>,
    average: &Tensor<'_>,
    square_average: &Tensor<'_>,
    greatest: Option<&Tensor<'_>>,
    grad: &Tensor<'_>,
    step: i64,
    is_decoupled: bool,
    settings: &Adam,
) -> Result<()> {
    let numbers = [settings.rate, settings.betas[0].powf(step as f64), settings.betas[1].powf(step as f64)];
    let bytes: Vec<u8> = numbers.into_iter().flat_map(f64::to_ne_bytes).collect();
    let numbers = call.upload(DataType::FLOAT64, &[3], &bytes)?;
    let numbers = [numbers.selected(0, 0)?, numbers.selected(0, 1)?, numbers.selected(0, 2)?];
    let grad = if is_decoupled || settings.decay == 0.0 {
        grad.clone()
    } else {
        decayed(call, grad, param, settings.decay)?
    };
    let state = State { param, average, square_average, greatest };
    let decay = if is_decoupled { settings.decay } else { 0.0 };
    adam_step(call, &state, &grad, &numbers, decay, settings)
}

/// Performs steps of AdamW for lists of parameters. The step numbers are tensors.
pub(crate) fn fused_adam_w(
    call: &Call,
    params: &[Tensor<'_>],
    averages: &[Tensor<'_>],
    square_averages: &[Tensor<'_>],
    greatest: &[Option<Tensor<'_>>],
    grads: &[Tensor<'_>],
    steps: &[Tensor<'_>],
    maximize: bool,
    settings: &Adam,
) -> Result<()> {
    let rate = call.scalar(Number::Float(settings.rate), DataType::FLOAT64)?;
    for (index, param) in params.iter().enumerate() {
        let step = call.to_type(&steps[index], DataType::FLOAT64)?;
        let [first, second] = settings.betas.map(|beta| power(call, beta, &step));
        let grad =
            if maximize { terms::scale(call, &grads[index], -1.0, 0.0)? } else { grads[index].clone() };
        let state = State {
            param,
            average: &averages[index],
            square_average: &square_averages[index],
            greatest: greatest[index].as_ref(),
        };
        adam_step(call, &state, &grad, &[rate.clone(), first?, second?], settings.decay, settings)?;
    }
    Ok(())
}

/// Computes a power with a tensor as the exponent.
fn power<'c>(call: &'c Call, base: f64, exponent: &Tensor<'_>) -> Result<Tensor<'c>> {
    let base = call.scalar(Number::Float(base), DataType::FLOAT64)?;
    call.formula(
        &Method::new("elementwise_pow", FLOAT),
        [(&base).into(), exponent.into()],
        &mut |device, launch, out, [a, b]| device.elementwise_pow(launch, out, a, b),
    )
}

/// A parameter and its state, which a step updates.
struct State<'a, 'c> {
    param: &'a Tensor<'c>,
    average: &'a Tensor<'c>,
    square_average: &'a Tensor<'c>,
    greatest: Option<&'a Tensor<'c>>,
}

/// Performs a step. `numbers` holds the learning rate, and the betas to the power of the step.
fn adam_step(
    call: &Call,
    state: &State<'_, '_>,
    grad: &Tensor<'_>,
    numbers: &[Tensor<'_>; 3],
    decay: f64,
    settings: &Adam,
) -> Result<()> {
    let ty = step_type(state.param, grad);
    let (given, grad) = (call.to_type(state.param, ty)?, call.to_type(grad, ty)?);
    let greatest = settings.amsgrad.then(|| {
        state.greatest.ok_or_else(|| Error::invalid("`max_exp_avg_sq` is null, which AMSGrad needs"))
    });
    let greatest = greatest.transpose()?;
    let mut param = call.output(state.param, ty, &[])?;
    let mut average = call.output(state.average, state.average.data_type(), &[])?;
    let mut square = call.output(state.square_average, state.square_average.data_type(), &[])?;
    let mut largest = greatest.map(|it| call.output(it, it.data_type(), &[])).transpose()?;
    let [rate, first, second] = numbers.each_ref().map(Tensor::elements);
    let [beta1, beta2] = settings.betas;
    call.run(&Method::new("adamw", FLOAT), ty, &mut |device, launch| {
        device.adamw(
            launch,
            param.elements(),
            average.elements(),
            square.elements(),
            largest.as_mut().map(|it| it.elements()),
            None,
            None,
            None,
            given.elements(),
            grad.elements(),
            rate,
            state.average.elements(),
            state.square_average.elements(),
            greatest.map(Tensor::elements),
            first,
            second,
            None,
            None,
            &AdamwAttributes {
                beta1,
                beta2,
                epsilon: settings.epsilon,
                lr_ratio: 1.0,
                coeff: decay,
                with_decay: decay != 0.0,
                multi_precision: false,
                use_global_beta_pow: true,
                amsgrad: settings.amsgrad,
            },
        )
    })?;
    param.finish()
}

/// Returns the type in which an operator gets the parameters and their gradients. The operator computes half
/// precision in `float32` itself; gradients with a weight decay are wider.
fn step_type(param: &Tensor<'_>, grad: &Tensor<'_>) -> DataType {
    let ty = param.data_type();
    if grad.data_type() == ty { ty } else { wide(ty) }
}

/// Performs a step of Adadelta.
pub(crate) fn adadelta(
    call: &Call,
    param: &Tensor<'_>,
    square_average: &Tensor<'_>,
    updates: &Tensor<'_>,
    grad: &Tensor<'_>,
    rate: f32,
    rho: f32,
    epsilon: f32,
    decay: f32,
) -> Result<()> {
    let grad = match decay {
        0.0 => grad.clone(),
        _ => decayed(call, grad, param, decay.into())?,
    };
    let ty = step_type(param, &grad);
    let (given, grad) = (call.to_type(param, ty)?, call.to_type(&grad, ty)?);
    let rate = call.scalar(Number::Float(rate.into()), DataType::FLOAT64)?;
    let mut new_param = call.output(param, ty, &[])?;
    let mut new_average = call.output(square_average, square_average.data_type(), &[])?;
    let mut new_updates = call.output(updates, updates.data_type(), &[])?;
    call.run(&Method::new("adadelta", FLOAT), ty, &mut |device, launch| {
        device.adadelta(
            launch,
            new_param.elements(),
            new_average.elements(),
            new_updates.elements(),
            None,
            given.elements(),
            grad.elements(),
            square_average.elements(),
            updates.elements(),
            rate.elements(),
            None,
            &AdadeltaAttributes { rho: rho.into(), epsilon: epsilon.into(), multi_precision: false },
        )
    })?;
    new_param.finish()
}

/// Performs a step of RMSprop.
pub(crate) fn rmsprop(
    call: &Call,
    param: &Tensor<'_>,
    square_average: &Tensor<'_>,
    average: Option<&Tensor<'_>>,
    buffer: Option<&Tensor<'_>>,
    grad: &Tensor<'_>,
    rate: f32,
    alpha: f32,
    epsilon: f32,
    decay: f32,
    momentum: f32,
    centered: bool,
) -> Result<()> {
    let average =
        if centered { Some(average.ok_or_else(|| Error::invalid("`grad_avg` is null"))?) } else { None };
    let buffer = if momentum > 0.0 {
        Some(buffer.ok_or_else(|| Error::invalid("`momentum_buf` is null"))?)
    } else {
        None
    };
    let grad = decayed(call, grad, param, decay.into())?;
    let square = terms::multiply(call, &grad, &grad)?;
    let mut spread = mix(call, square_average, &square, alpha.into())?;
    if let Some(average) = average {
        let mean = mix(call, average, &grad, alpha.into())?;
        spread = terms::subtract(call, &spread, &terms::multiply(call, &mean, &mean)?)?;
    }
    let root = terms::scale(call, &terms::sqrt(call, &spread)?, 1.0, epsilon.into())?;
    let mut update = terms::divide(call, &grad, &root)?;
    if let Some(buffer) = buffer {
        update = terms::add_scaled(call, &update, &widened(call, buffer)?, momentum.into())?;
        call.copy(buffer, &update)?;
    }
    descend(call, param, &update, rate.into())
}

/// Updates a running mean, and returns it before rounding: `alpha * mean + (1 - alpha) * value`.
fn mix<'c>(call: &'c Call, mean: &Tensor<'c>, value: &Tensor<'c>, alpha: f64) -> Result<Tensor<'c>> {
    let kept = terms::scale(call, &widened(call, mean)?, alpha, 0.0)?;
    let mixed = terms::add_scaled(call, &kept, value, 1.0 - alpha)?;
    call.copy(mean, &mixed)?;
    Ok(mixed)
}

/// Returns the gradients with the weight decay of the parameters, in the type in which steps are computed.
fn decayed<'c>(call: &'c Call, grad: &Tensor<'c>, param: &Tensor<'c>, decay: f64) -> Result<Tensor<'c>> {
    let grad = widened(call, grad)?;
    if decay == 0.0 { Ok(grad) } else { terms::add_scaled(call, &grad, &widened(call, param)?, decay) }
}

/// Scales down gradients whose norm is too large, and returns the norm.
pub(crate) fn clip_norm(
    call: &Call,
    grads: &[Tensor<'_>],
    out: &mut f64,
    greatest: f64,
    order: f64,
    must_be_finite: bool,
) -> Result<()> {
    let norms = call.temporary(DataType::FLOAT64, &[grads.len()])?;
    for (index, grad) in grads.iter().enumerate() {
        norm(call, &norms.selected(0, index)?, grad, order)?;
    }
    let total = call.temporary(DataType::FLOAT64, &[])?;
    norm(call, &total, &norms, order)?;
    let bytes = call.download(&total)?;
    let missing = |_| Error::new(Status::INTERNAL_ERROR, "the norm has no value");
    *out = f64::from_ne_bytes(bytes.as_slice().try_into().map_err(missing)?);
    if must_be_finite && !out.is_finite() {
        return Err(Error::new(Status::FAILED, format!("the norm of the gradients is {out}")));
    }
    // If the norm is NaN, all gradients become NaN.
    let factor = greatest / (*out + 1e-6);
    if factor >= 1.0 {
        return Ok(());
    }
    grads.iter().try_for_each(|grad| call.copy(grad, &terms::scale(call, grad, factor, 0.0)?))
}

fn norm(call: &Call, out: &Tensor<'_>, x: &Tensor<'_>, order: f64) -> Result<()> {
    let x = &widened(call, x)?;
    let mut result = call.output(out, x.data_type(), &[x])?;
    call.run(&Method::new("p_norm", FLOAT), x.data_type(), &mut |device, launch| {
        device.p_norm(
            launch,
            result.elements(),
            x.elements(),
            &PNormAttributes { porder: order, axis: 0, keep_dim: false, asvector: true },
        )
    })?;
    result.finish()
}

/// Multiplies gradients by a factor, and records whether an element is infinite or NaN.
pub(crate) fn unscale(
    call: &Call,
    grads: &[Tensor<'_>],
    found: &Tensor<'_>,
    factor: &Tensor<'_>,
) -> Result<()> {
    let factor = factor.reshaped(&[])?;
    for grad in grads {
        let finite = call.formula(
            &Method::new("is_finite", FLOAT).yields_bool(),
            [grad.into()],
            &mut |device, launch, out, [x]| device.is_finite(launch, out, x),
        )?;
        let all = call.temporary(DataType::BOOL, &[])?;
        let mut result = call.output(&all, DataType::BOOL, &[])?;
        call.run(&Method::new("all", crate::compute::BOOL), DataType::BOOL, &mut |device, launch| {
            device.all(
                launch,
                result.elements(),
                finite.elements(),
                &SumAttributes { axis: &[], keep_dim: false, reduce_all: true },
            )
        })?;
        result.finish()?;
        call.write(
            &Method::new("select", FLOAT),
            found,
            [(&all).into(), found.into(), 1.0.into()],
            &mut |device, launch, out, [condition, a, b]| device.select(launch, out, condition, a, b),
        )?;
        // Computed at least in float32: the factor may be too small for float16.
        call.copy(grad, &terms::multiply(call, &widened(call, grad)?, &factor)?)?;
    }
    Ok(())
}
