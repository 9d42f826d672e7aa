//! Rules for normalization with statistics of the input. The formulas are those in PyTorch's documentation.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

pub(crate) mod batch;
pub(crate) mod vectors;

use tenon::device::{Error, Result};
use tenon_operators::attributes::GroupNormAttributes;

use crate::compute::rules::optional::{Optional, elements, present};
use crate::compute::rules::terms::scale;
use crate::compute::{Call, FLOAT, Method, Tensor, wide};

/// Writes the reciprocal standard deviations for variances.
pub fn write_deviations(call: &Call, target: &Tensor<'_>, variance: &Tensor<'_>, eps: f64) -> Result<()> {
    let variance = scale(call, variance, 1.0, eps)?;
    call.write(&Method::new("rsqrt", FLOAT), target, [(&variance).into()], &mut |device, launch, out, [x]| {
        device.rsqrt(launch, out, x)
    })
}

/// Returns the variances, including `eps`, from reciprocal standard deviations.
fn variances<'c>(call: &'c Call, deviations: &Tensor<'c>) -> Result<Tensor<'c>> {
    let deviations = call.to_type(deviations, wide(deviations.data_type()))?;
    let squares = call.formula(
        &Method::new("square", FLOAT),
        [(&deviations).into()],
        &mut |device, launch, out, [x]| device.square(launch, out, x),
    )?;
    call.formula(&Method::new("reciprocal", FLOAT), [(&squares).into()], &mut |device, launch, out, [x]| {
        device.reciprocal(launch, out, x)
    })
}

/// Returns the first of the last dimensions, which must have the given shape.
fn first_of_last(input: &Tensor<'_>, shape: &[i64]) -> Result<i64> {
    let axis = input.rank().checked_sub(shape.len());
    let is_last = |axis: usize| input.dims()[axis..].iter().map(|&dim| dim as i64).eq(shape.iter().copied());
    match axis {
        Some(axis) if !shape.is_empty() && is_last(axis) => Ok(axis as i64),
        _ => Err(Error::invalid(format!(
            "the shape {:?} does not end with `normalized_shape`, {shape:?}",
            input.dims()
        ))),
    }
}

/// Normalizes over the last dimensions, and writes means and reciprocal standard deviations.
pub(crate) fn layer_norm(
    call: &Call,
    out: &Tensor<'_>,
    save_mean: &Tensor<'_>,
    save_invstd: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    normalized_shape: &[i64],
    eps: f64,
) -> Result<()> {
    let axis = first_of_last(input, normalized_shape)?;
    layer_norm_from(call, out, save_mean, save_invstd, input, weight, bias, eps, axis)
}

/// Normalizes over the dimensions from `axis` to the last, and writes means and reciprocal standard deviations.
pub(crate) fn layer_norm_from(
    call: &Call,
    out: &Tensor<'_>,
    mean: &Tensor<'_>,
    deviation: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    eps: f64,
    axis: i64,
) -> Result<()> {
    let axis = input.dimension(axis)? as i64;
    let variance = call.temporary(wide(input.data_type()), deviation.dims())?;
    let inputs = present([Some(input), weight, bias]);
    let mut values = call.output(out, input.data_type(), &inputs)?;
    let mut means = Optional::new(call, Some(mean), &inputs)?;
    let mut variances = Optional::new(call, Some(&variance), &inputs)?;
    call.run(&Method::new("layer_norm", FLOAT), input.data_type(), &mut |device, launch| {
        let (values, x) = (values.elements(), input.elements());
        let (weight, bias) = (elements(weight), elements(bias));
        device.layer_norm(launch, values, means.elements(), variances.elements(), x, weight, bias, eps, axis)
    })?;
    values.finish()?;
    means.finish()?;
    variances.finish()?;
    write_deviations(call, deviation, &variance, eps)
}

/// Computes the gradients of [`layer_norm`].
pub(crate) fn layer_norm_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    mean: &Tensor<'_>,
    rstd: &Tensor<'_>,
    normalized_shape: &[i64],
) -> Result<()> {
    let axis = first_of_last(input, normalized_shape)?;
    layer_norm_backward_from(
        call,
        grad_input,
        grad_weight,
        grad_bias,
        grad_output,
        input,
        weight,
        mean,
        rstd,
        axis,
    )
}

/// Computes the gradients of [`layer_norm_from`] from its statistics.
pub(crate) fn layer_norm_backward_from(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    mean: &Tensor<'_>,
    deviation: &Tensor<'_>,
    axis: i64,
) -> Result<()> {
    let axis = input.dimension(axis)? as i64;
    let variance = variances(call, deviation)?;
    let grad_output = call.to_type(grad_output, input.data_type())?;
    let inputs = present([Some(&grad_output), Some(input), weight, Some(mean), Some(&variance)]);
    let mut dx = Optional::new(call, Some(grad_input), &inputs)?;
    let mut dscale = Optional::new(call, grad_weight, &inputs)?;
    let mut dbias = Optional::new(call, grad_bias, &inputs)?;
    call.run(&Method::new("layer_norm_grad", FLOAT), input.data_type(), &mut |device, launch| {
        device.layer_norm_grad(
            launch,
            dx.elements(),
            dscale.elements(),
            dbias.elements(),
            input.elements(),
            elements(weight),
            mean.elements(),
            variance.elements(),
            grad_output.elements(),
            0.0,
            axis,
        )
    })?;
    dx.finish()?;
    dscale.finish()?;
    dbias.finish()
}

/// Normalizes over groups of channels, and writes means and reciprocal standard deviations.
pub(crate) fn group_norm(
    call: &Call,
    out: &Tensor<'_>,
    save_mean: &Tensor<'_>,
    save_invstd: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    num_groups: i64,
    eps: f64,
) -> Result<()> {
    let inputs = present([Some(input), weight, bias]);
    let variance = call.temporary(wide(input.data_type()), save_invstd.dims())?;
    let mut values = call.output(out, input.data_type(), &inputs)?;
    let mut means = Optional::new(call, Some(save_mean), &inputs)?;
    let mut variances = Optional::new(call, Some(&variance), &inputs)?;
    call.run(&Method::new("group_norm", FLOAT), input.data_type(), &mut |device, launch| {
        device.group_norm(
            launch,
            values.elements(),
            means.elements(),
            variances.elements(),
            input.elements(),
            elements(weight),
            elements(bias),
            &GroupNormAttributes { epsilon: eps, groups: num_groups, data_layout: "NCHW" },
        )
    })?;
    values.finish()?;
    means.finish()?;
    variances.finish()?;
    write_deviations(call, save_invstd, &variance, eps)
}

/// Computes the gradients of [`group_norm`].
pub(crate) fn group_norm_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    mean: &Tensor<'_>,
    rstd: &Tensor<'_>,
    num_groups: i64,
) -> Result<()> {
    let variance = variances(call, rstd)?;
    let grad_output = call.to_type(grad_output, input.data_type())?;
    let inputs = present([Some(&grad_output), Some(input), weight, Some(mean)]);
    let mut dx = Optional::new(call, Some(grad_input), &inputs)?;
    let mut dscale = Optional::new(call, grad_weight, &inputs)?;
    let mut dbias = Optional::new(call, grad_bias, &inputs)?;
    call.run(&Method::new("group_norm_grad", FLOAT), input.data_type(), &mut |device, launch| {
        device.group_norm_grad(
            launch,
            dx.elements(),
            dscale.elements(),
            dbias.elements(),
            input.elements(),
            elements(weight),
            mean.elements(),
            variance.elements(),
            grad_output.elements(),
            &GroupNormAttributes { epsilon: 0.0, groups: num_groups, data_layout: "NCHW" },
        )
    })?;
    dx.finish()?;
    dscale.finish()?;
    dbias.finish()
}
