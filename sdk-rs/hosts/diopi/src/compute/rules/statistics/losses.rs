//! Rules for elementwise losses and their reduction.

use tenon::device::{Error, Result};
use tenon_operators::attributes::SumAttributes;

use crate::compute::rules::terms::{add, multiply, scale};
use crate::compute::{Call, FLOAT, Method, Number, Tensor};
use crate::runtime::Reduction;

/// Writes the loss of each element, their mean or their sum.
pub(crate) fn reduced(call: &Call, out: &Tensor<'_>, each: &Tensor<'_>, reduction: Reduction) -> Result<()> {
    let is_mean = match reduction {
        Reduction::NONE => return call.copy(out, each),
        Reduction::MEAN => true,
        Reduction::SUM => false,
        other => return Err(invalid(other)),
    };
    let mut result = call.output(out, each.data_type(), &[each])?;
    let method = Method::new(if is_mean { "mean" } else { "sum" }, FLOAT);
    call.run(&method, each.data_type(), &mut |device, launch| {
        let (out, x) = (result.elements(), each.elements());
        if is_mean {
            device.mean(launch, out, x, &SumAttributes { axis: &[], keep_dim: false, reduce_all: true })
        } else {
            device.sum(launch, out, x, &SumAttributes { axis: &[], keep_dim: false, reduce_all: true })
        }
    })?;
    result.finish()
}

fn invalid(reduction: Reduction) -> Error {
    Error::invalid(format!("`reduction` is {reduction:?}"))
}

/// Returns the gradient of the loss of each element from the gradient of the reduced result.
pub(crate) fn spread<'c>(
    call: &'c Call,
    grad_output: &Tensor<'c>,
    each: &Tensor<'_>,
    reduction: Reduction,
) -> Result<Tensor<'c>> {
    match reduction {
        Reduction::NONE | Reduction::SUM => Ok(grad_output.clone()),
        Reduction::MEAN => scale(call, grad_output, 1.0 / each.len() as f64, 0.0),
        other => Err(invalid(other)),
    }
}

/// Multiplies losses by weights, if given.
pub(crate) fn weighted<'c>(
    call: &'c Call,
    each: &Tensor<'c>,
    weight: Option<&Tensor<'_>>,
) -> Result<Tensor<'c>> {
    match weight {
        Some(weight) => multiply(call, each, weight),
        None => Ok(each.clone()),
    }
}

/// A label that no element has: all labels count.
const NO_LABEL: f64 = f64::NAN;

/// Computes the binary cross entropy of logits. The logarithm for the label 1 may be weighted.
pub(crate) fn logits_entropy<'c>(
    call: &'c Call,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    pos_weight: Option<&Tensor<'_>>,
) -> Result<Tensor<'c>> {
    let Some(pos_weight) = pos_weight else {
        let method = Method::new("sigmoid_cross_entropy", FLOAT);
        return call.formula(
            &method,
            [input.into(), target.into()],
            &mut |device, launch, out, [x, label]| {
                device.sigmoid_cross_entropy(launch, out, x, label, NO_LABEL)
            },
        );
    };
    let weight = weight_of_logarithm(call, target, pos_weight)?;
    call.formula(
        &Method::new("weighted_sigmoid_cross_entropy", FLOAT),
        [input.into(), target.into(), (&weight).into()],
        &mut |device, launch, out, [x, label, weight]| {
            device.weighted_sigmoid_cross_entropy(launch, out, x, label, weight, NO_LABEL)
        },
    )
}

/// Computes the gradient of [`logits_entropy`].
pub(crate) fn logits_entropy_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    each: &Tensor<'_>,
    input: &Tensor<'_>,
    target: &Tensor<'_>,
    pos_weight: Option<&Tensor<'_>>,
) -> Result<()> {
    let Some(pos_weight) = pos_weight else {
        return call.write(
            &Method::new("sigmoid_cross_entropy_dx", FLOAT),
            grad_input,
            [input.into(), target.into(), each.into()],
            &mut |device, launch, dx, [x, label, dout]| {
                device.sigmoid_cross_entropy_dx(launch, dx, x, label, dout, NO_LABEL)
            },
        );
    };
    let weight = weight_of_logarithm(call, target, pos_weight)?;
    call.write(
        &Method::new("weighted_sigmoid_cross_entropy_dx", FLOAT),
        grad_input,
        [input.into(), target.into(), (&weight).into(), each.into()],
        &mut |device, launch, dx, [x, label, weight, dout]| {
            device.weighted_sigmoid_cross_entropy_dx(launch, dx, x, label, weight, dout, NO_LABEL)
        },
    )
}

/// Computes `1 + label * (weight - 1)`.
fn weight_of_logarithm<'c>(call: &'c Call, label: &Tensor<'_>, weight: &Tensor<'_>) -> Result<Tensor<'c>> {
    let factor = scale(call, weight, 1.0, -1.0)?;
    add(call, &multiply(call, label, &factor)?, Number::Float(1.0))
}
