//! Rules for matrices.

use tenon::device::{Error, Result};
use tenon_operators::attributes::PNormAttributes;
use tenon_operators::broadcast;

use crate::compute::rules::shared::kernel;
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, INTEGER, Method, Number, Operand, Tensor};

/// Computes `beta * input + alpha * (a @ b)`. If `beta` is 0, `input` is not read.
pub(crate) fn added_product(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    beta: impl Into<Operand<'static>>,
    alpha: impl Into<Operand<'static>>,
) -> Result<()> {
    let number = |operand| match operand {
        Operand::Number(number) => number,
        Operand::Tensor(_) | Operand::Condition(_) => Number::Float(1.0),
    };
    let (beta, alpha): (Number, Number) = (number(beta.into()), number(alpha.into()));
    let method = Method::new("addmm", FLOAT);
    let ty = a.data_type();
    if method.takes(ty) {
        let mut result = call.output(out, ty, &[input, a, b])?;
        call.run(&method, ty, &mut |device, launch| {
            let (input, a, b) = (input.elements(), a.elements(), b.elements());
            device.addmm(launch, result.elements(), input, a, b, beta.to_f64(), alpha.to_f64())
        })?;
        return result.finish();
    }
    // For integers, the factors are truncated.
    let product = call.temporary(ty, out.dims())?;
    multiply(call, &product, a, b, false)?;
    let product = terms::multiply(call, &product, Number::Integer(alpha.to_i64()))?;
    if beta.to_i64() == 0 {
        return call.copy(out, &product);
    }
    let summand = terms::multiply(call, input, Number::Integer(beta.to_i64()))?;
    call.copy(out, &terms::add(call, &product, &summand)?)
}

/// Computes `input @ transposed(weight) + bias`.
pub(crate) fn linear(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    bias: Option<&Tensor<'_>>,
) -> Result<()> {
    let Some(bias) = bias else { return multiply(call, out, input, weight, true) };
    let product = call.temporary(input.data_type(), out.dims())?;
    multiply(call, &product, input, weight, true)?;
    call.copy(out, &terms::add(call, &product, bias)?)
}

/// Computes `a @ b`, or `a @ transposed(b)`.
pub fn multiply(
    call: &Call,
    out: &Tensor<'_>,
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    transposed: bool,
) -> Result<()> {
    let ty = a.data_type();
    let mut result = call.output(out, ty, &[a, b])?;
    call.run(&Method::new("matmul", FLOAT | INTEGER), ty, &mut |device, launch| {
        device.matmul(launch, result.elements(), a.elements(), b.elements(), false, transposed)
    })?;
    result.finish()
}

/// Returns `a @ b` for batches of matrices.
pub fn product_of<'c>(call: &'c Call, a: &Tensor<'_>, b: &Tensor<'_>) -> Result<Tensor<'c>> {
    let (&[ref left @ .., rows, _], &[ref right @ .., _, columns]) = (a.dims(), b.dims()) else {
        return Err(Error::invalid(format!("{:?} and {:?} are not matrices", a.dims(), b.dims())));
    };
    let dims = [&broadcast(left, right)?[..], &[rows, columns]].concat();
    let out = call.temporary(a.data_type(), &dims)?;
    multiply(call, &out, a, b, false)?;
    Ok(out)
}

/// Sums the gradient of a result over the dimensions over which an operand was broadcast.
pub(crate) fn summed(call: &Call, out: Option<&Tensor<'_>>, x: &Tensor<'_>) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let ty = x.data_type();
    let mut result = call.output(out, ty, &[x])?;
    call.run(&Method::new("reduce_as", FLOAT | INTEGER), ty, &mut |device, launch| {
        device.reduce_as(launch, result.elements(), x.elements())
    })?;
    result.finish()
}

/// Computes the distances of pairs of rows.
pub(crate) fn distances<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    a: &Tensor<'c>,
    b: &Tensor<'c>,
    p: f64,
    mode: Option<i64>,
) -> Result<()> {
    if !matches!(mode, None | Some(0..=2)) {
        return Err(Error::invalid(format!("`compute_mode` is {mode:?}, not 0, 1 or 2")));
    }
    let (a, b) = rows(call, a, b, p)?;
    let ty = a.data_type();
    if call.provides(&PAIRWISE_DISTANCE, ty) {
        return kernel(call, out, ty, &[&a, &b], &PAIRWISE_DISTANCE, &mut |device, launch, out| {
            device.pairwise_distance(launch, out, a.elements(), b.elements(), p)
        });
    }
    let differences = differences(call, &a, &b)?;
    kernel(call, out, ty, &[], &Method::new("p_norm", FLOAT), &mut |device, launch, out| {
        device.p_norm(
            launch,
            out,
            differences.elements(),
            &PNormAttributes { porder: p, axis: -1, keep_dim: false, asvector: false },
        )
    })
}

const PAIRWISE_DISTANCE: Method = Method::new("pairwise_distance", FLOAT);
const PAIRWISE_DISTANCE_GRAD: Method = Method::new("pairwise_distance_grad", FLOAT);

/// Computes the gradient of [`distances`] with respect to `a`.
pub(crate) fn distances_gradient<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    out_gradient: &Tensor<'c>,
    a: &Tensor<'c>,
    b: &Tensor<'c>,
    p: f64,
    distances: &Tensor<'c>,
) -> Result<()> {
    let (a, b) = rows(call, a, b, p)?;
    let ty = a.data_type();
    if call.provides(&PAIRWISE_DISTANCE_GRAD, ty) {
        let out_gradient = call.to_type(out_gradient, ty)?;
        let inputs = [&a, &b, &out_gradient];
        return kernel(call, gradient, ty, &inputs, &PAIRWISE_DISTANCE_GRAD, &mut |device, launch, dx| {
            let [a, b, dout] = inputs.map(Tensor::elements);
            device.pairwise_distance_grad(launch, dx, a, b, dout, p)
        });
    }
    let differences = differences(call, &a, &b)?;
    let of_pairs = call.tensor_like(&differences)?;
    kernel(call, &of_pairs, ty, &[], &Method::new("p_norm_grad", FLOAT), &mut |device, launch, dx| {
        let (x, out, dout) = (differences.elements(), distances.elements(), out_gradient.elements());
        device.p_norm_grad(
            launch,
            dx,
            x,
            out,
            dout,
            &PNormAttributes { porder: p, axis: -1, keep_dim: false, asvector: false },
        )
    })?;
    summed(call, Some(&gradient.unsqueezed(gradient.rank() - 1)?), &of_pairs)
}

/// Returns two matrices or batches of them, in one type.
fn rows<'c>(call: &'c Call, a: &Tensor<'c>, b: &Tensor<'c>, p: f64) -> Result<(Tensor<'c>, Tensor<'c>)> {
    if p.is_nan() || p < 0.0 {
        return Err(Error::invalid(format!("`p` is {p}, not 0 or greater")));
    }
    if a.rank() < 2 || b.rank() < 2 {
        return Err(Error::invalid(format!("{:?} and {:?} are not matrices", a.dims(), b.dims())));
    }
    Ok((a.clone(), call.to_type(b, a.data_type())?))
}

/// Computes the difference of each row of one matrix and each row of another, for devices that have no operator for
/// distances.
fn differences<'c>(call: &'c Call, a: &Tensor<'_>, b: &Tensor<'_>) -> Result<Tensor<'c>> {
    terms::subtract(call, &a.unsqueezed(a.rank() - 1)?, &b.unsqueezed(b.rank() - 2)?)
}
