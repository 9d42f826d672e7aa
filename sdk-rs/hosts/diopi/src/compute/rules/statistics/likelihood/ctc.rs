//! Rules for connectionist temporal classification. The reductions are those in PyTorch's documentation of
//! `CTCLoss`.

use tenon::device::Result;

use crate::compute::rules::shared::{kernel, single};
use crate::compute::rules::statistics::losses::reduced;
use crate::compute::rules::terms::{choose, divide, scale};
use crate::compute::{Call, DataType, FLOAT, INTEGER, Method, Number, Tensor, wide};
use crate::runtime::Reduction;

/// Returns the divisors of the losses in the mean: the lengths of the targets, at least 1.
fn divisors<'c>(call: &'c Call, lengths: &Tensor<'c>, ty: DataType) -> Result<Tensor<'c>> {
    let lengths = call.formula(
        &Method::new("maximum", FLOAT | INTEGER),
        [lengths.into(), Number::Integer(1).into()],
        &mut |device, launch, out, [a, b]| device.maximum(launch, out, a, b),
    )?;
    call.to_type(&lengths, ty)
}

/// Computes the loss, the loss of each sequence, and the logarithms of the forward probabilities.
pub(crate) fn ctc_loss<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    neg_log_likelihood: &Tensor<'c>,
    log_alpha: &Tensor<'c>,
    log_probs: &Tensor<'c>,
    targets: &Tensor<'c>,
    input_lengths: &Tensor<'c>,
    target_lengths: &Tensor<'c>,
    blank: i64,
    reduction: Reduction,
    zero_infinity: bool,
) -> Result<()> {
    let ty = log_probs.data_type();
    let inputs = [log_probs, targets, input_lengths, target_lengths];
    let mut loss = call.output(neg_log_likelihood, ty, &inputs)?;
    let mut alpha = call.output(log_alpha, ty, &inputs)?;
    let [x, labels, times, lengths] = inputs.map(Tensor::elements);
    call.run(&Method::new("ctc_loss", FLOAT), ty, &mut |device, launch| {
        let (loss, alpha) = (loss.elements(), Some(alpha.elements()));
        device.ctc_loss(launch, loss, alpha, x, labels, times, lengths, blank, false)
    })?;
    loss.finish()?;
    alpha.finish()?;
    let mut each = neg_log_likelihood.clone();
    if zero_infinity {
        let infinite = Method::new("is_inf", FLOAT).yields_bool();
        let infinite = call.formula(&infinite, [(&each).into()], &mut |device, launch, out, [x]| {
            device.is_inf(launch, out, x)
        })?;
        each = choose(call, &infinite, Number::Float(0.0), &each)?;
    }
    if reduction == Reduction::MEAN {
        each = divide(call, &each, &divisors(call, target_lengths, each.data_type())?)?;
    }
    match reduction {
        Reduction::NONE => reduced(call, out, &each, reduction),
        // Hosts pass an output for a single loss with or without a dimension.
        _ => reduced(call, &single(out)?, &each, reduction),
    }
}

/// Computes the gradient of [`ctc_loss`].
pub(crate) fn ctc_loss_backward<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    log_probs: &Tensor<'c>,
    targets: &Tensor<'c>,
    input_lengths: &Tensor<'c>,
    target_lengths: &Tensor<'c>,
    blank: i64,
    reduction: Reduction,
    zero_infinity: bool,
) -> Result<()> {
    let ty = log_probs.data_type();
    let batch = target_lengths.len();
    let mut gradient = call.to_type(grad_output, wide(ty))?;
    if reduction == Reduction::MEAN {
        let divisors = divisors(call, target_lengths, gradient.data_type())?;
        gradient = scale(call, &divide(call, &gradient, &divisors)?, 1.0 / batch as f64, 0.0)?;
    }
    let dloss = gradient.expanded(&[batch])?;
    let inputs = [log_probs, targets, input_lengths, target_lengths, &dloss];
    let [x, labels, times, lengths, dloss] = inputs.map(Tensor::elements);
    kernel(call, grad_input, ty, &inputs, &Method::new("ctc_loss_grad", FLOAT), &mut |device, launch, out| {
        device.ctc_loss_grad(launch, out, x, labels, times, lengths, dloss, blank, zero_infinity)
    })
}
