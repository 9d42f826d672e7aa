//! Rules for the cross entropy of logits with class labels or class probabilities.
//!
//! With smoothing `s` and the number of classes C, the target of a class is `(1 - s) * target + s / C`.

use tenon::device::{Error, Result};
use tenon_operators::attributes::SumAttributes;

use super::{examples, nll_loss, nll_loss_backward_with_total, of_examples, total};
use crate::compute::rules::statistics::losses::reduced;
use crate::compute::rules::terms::{add, divide, multiply, scale};
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Tensor, wide};
use crate::runtime::Reduction;

/// The arguments of a call, with a dimension of examples.
struct Arguments<'c> {
    /// The log-softmax of the logits.
    logarithms: Tensor<'c>,
    target: Tensor<'c>,
    /// The weights of the classes as a view that can be broadcast.
    class_weights: Option<Tensor<'c>>,
    /// True if the targets are probabilities of all classes.
    is_soft: bool,
}

impl<'c> Arguments<'c> {
    fn new(
        call: &'c Call,
        input: &Tensor<'c>,
        target: &Tensor<'c>,
        weight: Option<&Tensor<'c>>,
    ) -> Result<Self> {
        let is_soft = target.dims() == input.dims() && FLOAT_TENSORS.takes(target.data_type());
        let logits = call.to_type(&examples(input)?, wide(input.data_type()))?;
        let logarithms = call.tensor_like(&logits)?;
        let mut out = call.output(&logarithms, logits.data_type(), &[&logits])?;
        call.run(&Method::new("log_softmax", FLOAT), logits.data_type(), &mut |device, launch| {
            device.log_softmax(launch, out.elements(), logits.elements(), 1)
        })?;
        out.finish()?;
        let target = if is_soft { examples(target)? } else { of_examples(target, input)? };
        let by_class = |weight: &Tensor<'c>| {
            (2..logits.rank()).try_fold(weight.clone(), |view, dim| view.unsqueezed(dim - 1))
        };
        Ok(Self { logarithms, target, class_weights: weight.map(by_class).transpose()?, is_soft })
    }

    fn classes(&self) -> f64 {
        self.logarithms.dims()[1] as f64
    }

    /// Returns the number of examples.
    fn count(&self) -> f64 {
        self.logarithms.len() as f64 / self.classes()
    }

    /// Returns the probabilities of the classes, smoothed and weighted.
    fn probabilities(&self, call: &'c Call, smoothing: f64) -> Result<Tensor<'c>> {
        let target = call.to_type(&self.target, self.logarithms.data_type())?;
        let smoothed = scale(call, &target, 1.0 - smoothing, smoothing / self.classes())?;
        match &self.class_weights {
            Some(weights) => multiply(call, &smoothed, weights),
            None => Ok(smoothed),
        }
    }

    /// Returns 1 for each example that counts, and 0 for the ignored ones.
    fn counted(&self, call: &'c Call, ignore_index: i64) -> Result<Tensor<'c>> {
        let counted = call.formula(
            &Method::new("not_equal", FLOAT | INTEGER | BOOL).yields_bool(),
            [(&self.target).into(), Number::Integer(ignore_index).into()],
            &mut |device, launch, out, [a, b]| device.not_equal(launch, out, a, b),
        )?;
        call.to_type(&counted, self.logarithms.data_type())
    }

    /// Returns the negated sum over the classes for each example.
    fn minus_sums(&self, call: &'c Call, tensor: &Tensor<'_>) -> Result<Tensor<'c>> {
        let mut dims = tensor.dims().to_vec();
        dims.remove(1);
        let sums = call.temporary(tensor.data_type(), &dims)?;
        let mut out = call.output(&sums, tensor.data_type(), &[])?;
        call.run(&Method::new("sum", FLOAT), tensor.data_type(), &mut |device, launch| {
            device.sum(
                launch,
                out.elements(),
                tensor.elements(),
                &SumAttributes { axis: &[1], keep_dim: false, reduce_all: false },
            )
        })?;
        out.finish()?;
        scale(call, &sums, -1.0, 0.0)
    }

    /// Returns the losses that smoothing adds for each example.
    fn smooth_losses(&self, call: &'c Call, ignore_index: i64) -> Result<Tensor<'c>> {
        let weighted = match &self.class_weights {
            Some(weights) => multiply(call, &self.logarithms, weights)?,
            None => self.logarithms.clone(),
        };
        let losses = self.minus_sums(call, &weighted)?;
        multiply(call, &losses, &self.counted(call, ignore_index)?)
    }
}

const FLOAT_TENSORS: Method = Method::new("log_softmax", FLOAT);

/// Computes the cross entropy.
pub(crate) fn cross_entropy(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    reduction: Reduction,
    ignore_index: i64,
    smoothing: f64,
) -> Result<()> {
    let arguments = Arguments::new(call, input, target, weight)?;
    // PyTorch does not smooth if the number is negative.
    let smoothing = smoothing.max(0.0);
    let ty = arguments.logarithms.data_type();
    let result = if reduction == Reduction::NONE { of_examples(out, input)? } else { out.clone() };
    if arguments.is_soft {
        let products = multiply(call, &arguments.logarithms, &arguments.probabilities(call, smoothing)?)?;
        return reduced(call, &result, &arguments.minus_sums(call, &products)?, reduction);
    }
    let (logarithms, target) = (&arguments.logarithms, &arguments.target);
    if smoothing == 0.0 {
        return nll_loss(call, &result, None, logarithms, target, weight, reduction, ignore_index);
    }
    let hard = call.temporary(ty, result.dims())?;
    let total = call.temporary(ty, &[])?;
    nll_loss(call, &hard, Some(&total), logarithms, target, weight, reduction, ignore_index)?;
    let losses = arguments.smooth_losses(call, ignore_index)?;
    let smooth = call.temporary(ty, result.dims())?;
    let smooth = match reduction {
        Reduction::MEAN => {
            reduced(call, &smooth, &losses, Reduction::SUM)?;
            divide(call, &smooth, &total)?
        }
        _ => {
            reduced(call, &smooth, &losses, reduction)?;
            smooth
        }
    };
    let hard = scale(call, &hard, 1.0 - smoothing, 0.0)?;
    call.copy(&result, &add(call, &hard, &scale(call, &smooth, smoothing / arguments.classes(), 0.0)?)?)
}

/// Computes the gradient of [`cross_entropy`].
pub(crate) fn cross_entropy_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    reduction: Reduction,
    ignore_index: i64,
    smoothing: f64,
) -> Result<()> {
    let arguments = Arguments::new(call, input, target, weight)?;
    let smoothing = smoothing.max(0.0);
    let (logarithms, ty) = (&arguments.logarithms, arguments.logarithms.data_type());
    let grad_output = match reduction {
        Reduction::NONE => of_examples(grad_output, input)?,
        _ => grad_output.clone(),
    };
    let grad_output = call.to_type(&grad_output, ty)?;
    // The gradient of the loss of each example, which all classes share.
    let of_loss = match reduction {
        Reduction::NONE => grad_output.unsqueezed(1)?,
        Reduction::MEAN if arguments.is_soft => scale(call, &grad_output, 1.0 / arguments.count(), 0.0)?,
        Reduction::MEAN => {
            let total = total(call, logarithms, &arguments.target, weight, ignore_index)?;
            divide(call, &grad_output, &total)?
        }
        Reduction::SUM => grad_output.clone(),
        other => return Err(Error::invalid(format!("`reduction` is {other:?}"))),
    };
    let of_logarithms = if arguments.is_soft {
        scale(call, &multiply(call, &arguments.probabilities(call, smoothing)?, &of_loss)?, -1.0, 0.0)?
    } else {
        let hard = call.tensor_like(logarithms)?;
        // The gradient of each loss already includes the reduction.
        let mut dims = logarithms.dims().to_vec();
        dims.remove(1);
        let each =
            if reduction == Reduction::NONE { grad_output.clone() } else { of_loss.expanded(&dims)? };
        let unused = call.scalar(Number::Float(1.0), ty)?;
        nll_loss_backward_with_total(
            call,
            &hard,
            &each,
            &arguments.target,
            weight,
            &unused,
            Reduction::NONE,
            ignore_index,
        )?;
        smoothed(call, &arguments, hard, &of_loss, ignore_index, smoothing)?
    };
    let mut dx = call.output(&examples(grad_input)?, ty, &[])?;
    call.run(&Method::new("log_softmax_grad", FLOAT), ty, &mut |device, launch| {
        device.log_softmax_grad(launch, dx.elements(), logarithms.elements(), of_logarithms.elements(), 1)
    })?;
    dx.finish()
}

/// Adds the gradient of smoothing to that of the classes of the targets.
fn smoothed<'c>(
    call: &'c Call,
    arguments: &Arguments<'c>,
    hard: Tensor<'c>,
    of_loss: &Tensor<'_>,
    ignore_index: i64,
    smoothing: f64,
) -> Result<Tensor<'c>> {
    if smoothing == 0.0 {
        return Ok(hard);
    }
    let counted = arguments.counted(call, ignore_index)?.unsqueezed(1)?;
    let mut smooth = multiply(call, of_loss, &counted)?;
    if let Some(weights) = &arguments.class_weights {
        smooth = multiply(call, &smooth, weights)?;
    }
    let smooth = scale(call, &smooth, -smoothing / arguments.classes(), 0.0)?;
    add(call, &scale(call, &hard, 1.0 - smoothing, 0.0)?, &smooth)
}
