//! Rules for the negative log-likelihood and the cross entropy. The formulas are those in PyTorch's
//! documentation of `NLLLoss` and `CrossEntropyLoss`.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

pub(crate) mod ctc;
pub(crate) mod entropy;

use tenon::device::{Error, Result};

use crate::compute::rules::optional::{Optional, elements, present};
use crate::compute::{Call, FLOAT, Method, Tensor, wide};
use crate::runtime::Reduction;

/// Returns predictions with the examples as the first dimension, which is added for a single example.
fn examples<'c>(input: &Tensor<'c>) -> Result<Tensor<'c>> {
    match input.rank() {
        0 => Err(Error::invalid("the predictions have no dimension of the classes")),
        1 => input.unsqueezed(0),
        _ => Ok(input.clone()),
    }
}

/// Returns one number for each example, with a dimension that is added for a single example.
fn of_examples<'c>(numbers: &Tensor<'c>, input: &Tensor<'_>) -> Result<Tensor<'c>> {
    if input.rank() == 1 && numbers.rank() == 0 { numbers.unsqueezed(0) } else { Ok(numbers.clone()) }
}

/// Computes the loss of each example, or the sum of the losses, and the sum of the weights.
fn losses(
    call: &Call,
    out: &Tensor<'_>,
    total_weight: Option<&Tensor<'_>>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    is_sum: bool,
    ignore_index: i64,
) -> Result<()> {
    let inputs = present([Some(input), Some(target), weight]);
    let mut loss = call.output(out, input.data_type(), &inputs)?;
    let mut total = Optional::new(call, total_weight, &inputs)?;
    call.run(&Method::new("nll_loss", FLOAT), input.data_type(), &mut |device, launch| {
        let (loss, total, weight) = (loss.elements(), total.elements(), elements(weight));
        let (x, label) = (input.elements(), target.elements());
        device.nll_loss(
            launch,
            loss,
            total,
            x,
            label,
            weight,
            ignore_index,
            if is_sum { "sum" } else { "none" },
        )
    })?;
    loss.finish()?;
    total.finish()
}

/// Computes the sum of the weights of the targets, in a type for accumulating sums.
fn total<'c>(
    call: &'c Call,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    ignore_index: i64,
) -> Result<Tensor<'c>> {
    let ty = wide(input.data_type());
    let (sum, total) = (call.temporary(ty, &[])?, call.temporary(ty, &[])?);
    losses(call, &sum, Some(&total), &call.to_type(input, ty)?, target, weight, true, ignore_index)?;
    Ok(total)
}

/// Computes the negative log-likelihood. The mean is the quotient of two sums, and NaN if all targets are ignored.
pub(crate) fn nll_loss(
    call: &Call,
    out: &Tensor<'_>,
    total_weight: Option<&Tensor<'_>>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    reduction: Reduction,
    ignore_index: i64,
) -> Result<()> {
    let (examples, target) = (examples(input)?, of_examples(target, input)?);
    match reduction {
        Reduction::NONE => {
            let out = of_examples(out, input)?;
            losses(call, &out, total_weight, &examples, &target, weight, false, ignore_index)
        }
        Reduction::SUM => losses(call, out, total_weight, &examples, &target, weight, true, ignore_index),
        Reduction::MEAN => {
            let ty = wide(input.data_type());
            let sum = if out.data_type() == ty { out.clone() } else { call.temporary(ty, &[])? };
            let total = call.temporary(ty, &[])?;
            let examples = call.to_type(&examples, ty)?;
            losses(call, &sum, Some(&total), &examples, &target, weight, true, ignore_index)?;
            if let Some(total_weight) = total_weight {
                call.copy(total_weight, &total)?;
            }
            call.write(
                &Method::new("divide", FLOAT),
                out,
                [(&sum).into(), (&total).into()],
                &mut |device, launch, out, [sum, total]| device.divide(launch, out, sum, total),
            )
        }
        other => Err(Error::invalid(format!("`reduction` is {other:?}"))),
    }
}

/// Computes [`nll_loss`] with the sum of the weights as an additional result.
pub(crate) fn nll_loss_with_total(
    call: &Call,
    out: &Tensor<'_>,
    total_weight: &Tensor<'_>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    reduction: Reduction,
    ignore_index: i64,
) -> Result<()> {
    nll_loss(call, out, Some(total_weight), input, target, weight, reduction, ignore_index)
}

/// Computes the gradient of [`nll_loss`].
pub(crate) fn nll_loss_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    reduction: Reduction,
    ignore_index: i64,
) -> Result<()> {
    let total = total(call, &examples(input)?, &of_examples(target, input)?, weight, ignore_index)?;
    nll_loss_backward_with_total(
        call,
        grad_input,
        grad_output,
        target,
        weight,
        &total,
        reduction,
        ignore_index,
    )
}

/// Computes the gradient of [`nll_loss_with_total`].
pub(crate) fn nll_loss_backward_with_total(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    total_weight: &Tensor<'_>,
    reduction: Reduction,
    ignore_index: i64,
) -> Result<()> {
    let name = match reduction {
        Reduction::NONE => "none",
        Reduction::MEAN => "mean",
        Reduction::SUM => "sum",
        other => return Err(Error::invalid(format!("`reduction` is {other:?}"))),
    };
    let target = of_examples(target, grad_input)?;
    let grad_output = match reduction {
        Reduction::NONE => of_examples(grad_output, grad_input)?,
        _ => grad_output.clone(),
    };
    let gradient = examples(grad_input)?;
    let ty = gradient.data_type();
    let grad_output = call.to_type(&grad_output, ty)?;
    let inputs = present([Some(&grad_output), Some(&target), weight, Some(total_weight)]);
    let mut dx = call.output(&gradient, ty, &inputs)?;
    call.run(&Method::new("nll_loss_grad", FLOAT), ty, &mut |device, launch| {
        let (dx, label, weight) = (dx.elements(), target.elements(), elements(weight));
        let (total, dout) = (total_weight.elements(), grad_output.elements());
        device.nll_loss_grad(launch, dx, label, weight, total, dout, ignore_index, name)
    })?;
    dx.finish()
}
