//! Rules for transformers: root-mean-square normalization, rotary embeddings and masked softmax.

#![allow(clippy::too_many_arguments, reason = "functions of DIOPI have that many")]

use crate::compute::rules::shared::fill;
use tenon::device::{DataType, Error, Result};

use crate::compute::rules::shared::{expect_shape, kernel};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Number, Tensor, wide};

/// Applies root-mean-square normalization.
pub(crate) fn rms_norm<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    reciprocals: &Tensor<'c>,
    x: &Tensor<'_>,
    normalized: &[i64],
    weight: &Tensor<'_>,
    bias: Option<&Tensor<'_>>,
    epsilon: f64,
) -> Result<()> {
    let axis = first_axis(x, normalized)?;
    let mut roots = call.output(reciprocals, reciprocals.data_type(), &[x])?;
    let inputs: Vec<&Tensor<'_>> = [x, weight].into_iter().chain(bias).collect();
    kernel(
        call,
        out,
        x.data_type(),
        &inputs,
        &Method::new("rms_norm", FLOAT),
        &mut |device, launch, out| {
            let (weight, bias) = (Some(weight.elements()), bias.map(Tensor::elements));
            device.rms_norm(launch, out, Some(roots.elements()), x.elements(), weight, bias, epsilon, axis)
        },
    )?;
    roots.finish()
}

/// Computes the gradients of [`rms_norm`].
pub(crate) fn rms_norm_gradient<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    weight_gradient: &Tensor<'c>,
    bias_gradient: Option<&Tensor<'c>>,
    out_gradient: &Tensor<'_>,
    x: &Tensor<'_>,
    weight: &Tensor<'_>,
    reciprocals: &Tensor<'_>,
    normalized: &[i64],
) -> Result<()> {
    let axis = first_axis(x, normalized)?;
    let inputs = [x, weight, reciprocals, out_gradient];
    let mut of_weight = call.output(weight_gradient, weight_gradient.data_type(), &inputs)?;
    let mut of_bias = bias_gradient.map(|it| call.output(it, it.data_type(), &inputs)).transpose()?;
    let method = Method::new("rms_norm_grad", FLOAT);
    kernel(call, gradient, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [x, weight, reciprocals, out_gradient] = inputs.map(Tensor::elements);
        device.rms_norm_grad(
            launch,
            Some(out),
            Some(of_weight.elements()),
            of_bias.as_mut().map(|it| it.elements()),
            x,
            Some(weight),
            reciprocals,
            out_gradient,
            axis,
        )
    })?;
    of_weight.finish()?;
    of_bias.map_or(Ok(()), |it| it.finish())
}

/// Returns the first normalized dimension.
fn first_axis(x: &Tensor<'_>, normalized: &[i64]) -> Result<i64> {
    let axis = x.rank().checked_sub(normalized.len());
    let ends = |axis: &usize| x.dims()[*axis..].iter().map(|&dim| dim as i64).eq(normalized.iter().copied());
    axis.filter(ends).map(|axis| axis as i64).ok_or_else(|| {
        Error::invalid(format!(
            "the shape {:?} does not end with `normalized_shape` {normalized:?}",
            x.dims()
        ))
    })
}

/// Rotates pairs of elements of the last dimension: adjacent elements, or corresponding elements of both
/// halves.
pub(crate) fn rotary<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    cos: &Tensor<'_>,
    sin: &Tensor<'_>,
    back: bool,
    interleaved: bool,
) -> Result<()> {
    expect_shape("out", out, x.dims())?;
    let [first, second] = pairs(x, interleaved)?;
    let [out_first, out_second] = pairs(out, interleaved)?;
    let ty = wide(x.data_type());
    let [first, second] = [call.to_type(&first, ty)?, call.to_type(&second, ty)?];
    let [cos, sin] = [call.to_type(cos, ty)?, call.to_type(sin, ty)?];
    let sin = if back { terms::scale(call, &sin, -1.0, 0.0)? } else { sin };
    let turned = |a: &Tensor<'_>, b: &Tensor<'_>| -> Result<[Tensor<'c>; 2]> {
        Ok([terms::multiply(call, a, &cos)?, terms::multiply(call, b, &sin)?])
    };
    let ([a, b], [c, d]) = (turned(&first, &second)?, turned(&second, &first)?);
    let (low, high) = (terms::subtract(call, &a, &b)?, terms::add(call, &c, &d)?);
    call.copy(&out_first, &low)?;
    call.copy(&out_second, &high)
}

fn pairs<'c>(x: &Tensor<'c>, interleaved: bool) -> Result<[Tensor<'c>; 2]> {
    let Some(last) = x.rank().checked_sub(1).filter(|&last| x.dims()[last].is_multiple_of(2)) else {
        return Err(Error::invalid(format!("the last dimension of {:?} cannot be halved", x.dims())));
    };
    let half = x.dims()[last] / 2;
    let (start, step) = if interleaved { (1, 2) } else { (half, 1) };
    Ok([x.sliced(last, 0, half, step)?, x.sliced(last, start, half, step)?])
}

/// Rotates corresponding elements of both halves of heads, in place. The tables have one number for each
/// element of a head.
pub(crate) fn rotary_in_place<'c>(
    call: &'c Call,
    query: &Tensor<'c>,
    key: &Tensor<'c>,
    cos: &Tensor<'c>,
    sin: &Tensor<'c>,
    size: i64,
) -> Result<()> {
    let size = usize::try_from(size).map_err(|_| Error::invalid(format!("`dim` is {size}")))?;
    for x in [query, key] {
        let last = x.rank().checked_sub(1).ok_or_else(|| Error::invalid("a tensor has no heads"))?;
        let x = if x.dims()[last] == size { x.clone() } else { x.divided(last, size)? };
        let table = |table: &Tensor<'c>| -> Result<Tensor<'c>> {
            let table = call.to_type(table, wide(x.data_type()))?;
            // Tables without a dimension for the heads.
            if table.rank() + 1 == x.rank() { table.unsqueezed(table.rank() - 1) } else { Ok(table) }
        };
        let (cos, sin) = (table(cos)?, table(sin)?);
        let wide_x = call.to_type(&x, wide(x.data_type()))?;
        let [first, second] = pairs(&wide_x, false)?;
        let turned = call.tensor_like(&wide_x)?;
        let [low, high] = pairs(&turned, false)?;
        call.copy(&low, &terms::scale(call, &second, -1.0, 0.0)?)?;
        call.copy(&high, &first)?;
        let straight = terms::multiply(call, &wide_x, &cos)?;
        call.copy(&x, &terms::add(call, &straight, &terms::multiply(call, &turned, &sin)?)?)?;
    }
    Ok(())
}

/// A masked score. It is far below all others, but finite, so that the weights of a row with only masked
/// scores are equal.
const MASKED: f64 = -10000.0;

/// Computes the softmax of scaled scores, some of which are masked.
pub(crate) fn masked_softmax<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    mask: &Tensor<'_>,
    scale: f64,
    is_triangle: bool,
) -> Result<()> {
    let seen = seen(call, mask, is_triangle)?;
    let x = call.to_type(x, wide(x.data_type()))?;
    let scores = terms::choose(call, &seen, &terms::scale(call, &x, scale, 0.0)?, MASKED)?;
    let ty = scores.data_type();
    kernel(call, out, ty, &[&scores], &Method::new("softmax", FLOAT), &mut |device, launch, out| {
        device.softmax(launch, out, scores.elements(), -1)
    })
}

/// Computes the gradient of [`masked_softmax`].
pub(crate) fn masked_softmax_gradient<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    out_gradient: &Tensor<'_>,
    out: &Tensor<'_>,
    mask: &Tensor<'_>,
    scale: f64,
    is_triangle: bool,
) -> Result<()> {
    let seen = seen(call, mask, is_triangle)?;
    let ty = wide(out.data_type());
    let (out, out_gradient) = (call.to_type(out, ty)?, call.to_type(out_gradient, ty)?);
    let scores = call.tensor_like(&out)?;
    kernel(call, &scores, ty, &[], &Method::new("softmax_grad", FLOAT), &mut |device, launch, dx| {
        device.softmax_grad(launch, dx, out.elements(), out_gradient.elements(), -1)
    })?;
    call.copy(gradient, &terms::choose(call, &seen, &terms::scale(call, &scores, scale, 0.0)?, 0.0)?)
}

/// Returns the mask of the scores that are not masked.
fn seen<'c>(call: &'c Call, mask: &Tensor<'_>, is_triangle: bool) -> Result<Tensor<'c>> {
    if !is_triangle {
        return terms::not(call, mask);
    }
    let all = call.temporary(DataType::BOOL, mask.dims())?;
    fill(call, &all, Number::Bool(true))?;
    terms::triangle(call, &all, 0, true)
}
