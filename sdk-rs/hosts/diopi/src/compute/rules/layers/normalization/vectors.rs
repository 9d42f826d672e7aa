//! Rules for normalization of each channel of each example, and of vectors.

use tenon::device::{Error, Result};
use tenon_operators::attributes::{PNormAttributes, SumAttributes};

use crate::compute::rules::optional::{Optional, elements, present};
use crate::compute::rules::shared::expect_shape;
use crate::compute::rules::terms::{divide, multiply, scale};
use crate::compute::{Call, FLOAT, INTEGER, Method, Tensor, wide};

/// The numbers of examples, of channels, and of the elements that are normalized together.
///
/// These are the first dimension, the ones between it and `axis`, and the ones from `axis` on.
fn sizes(input: &Tensor<'_>, axis: i64) -> Result<[usize; 3]> {
    match input.dimension(axis)? {
        0 => Err(Error::invalid("`axis` is the first dimension, which is that of the examples")),
        axis => {
            let (channels, elements) = input.dims()[1..].split_at(axis - 1);
            Ok([input.dims()[0], channels.iter().product(), elements.iter().product()])
        }
    }
}

/// Returns a view with another shape, of the tensor or of a copy.
fn shaped<'c>(call: &'c Call, tensor: &Tensor<'c>, dims: &[usize]) -> Result<Tensor<'c>> {
    call.packed(tensor)?.reshaped(dims)
}

/// Returns the number of each channel.
fn by_channel<'c>(
    call: &'c Call,
    name: &str,
    numbers: Option<&Tensor<'c>>,
    channels: usize,
) -> Result<Option<Tensor<'c>>> {
    let Some(numbers) = numbers else { return Ok(None) };
    if numbers.len() != channels {
        let message =
            format!("`{name}` has the shape {:?}, not one number per channel ({channels})", numbers.dims());
        return Err(Error::invalid(message));
    }
    shaped(call, numbers, &[channels]).map(Some)
}

/// Writes an output that another shape is computed in.
fn write_shaped<'c>(
    call: &'c Call,
    target: &Tensor<'c>,
    dims: &[usize],
    write: impl FnOnce(&Tensor<'c>) -> Result<()>,
) -> Result<()> {
    if target.is_contiguous() {
        return write(&target.reshaped(dims)?);
    }
    let temporary = call.tensor_like(target)?;
    write(&temporary.reshaped(dims)?)?;
    call.copy(target, &temporary)
}

/// Normalizes the dimensions from `axis` on, for each example and channel.
pub(crate) fn instance_norm<'c>(
    call: &'c Call,
    output: &Tensor<'c>,
    input: &Tensor<'c>,
    axis: i64,
    weight: Option<&Tensor<'c>>,
    bias: Option<&Tensor<'c>>,
    eps: f64,
) -> Result<()> {
    expect_shape("output", output, input.dims())?;
    let dims = sizes(input, axis)?;
    let input = shaped(call, input, &dims)?;
    let weight = by_channel(call, "scale", weight, dims[1])?;
    let bias = by_channel(call, "bias", bias, dims[1])?;
    write_shaped(call, output, &dims, |output| {
        instances(call, output, [None, None], &input, weight.as_ref(), bias.as_ref(), eps)
    })
}

fn instances(
    call: &Call,
    output: &Tensor<'_>,
    statistics: [Option<&Tensor<'_>>; 2],
    input: &Tensor<'_>,
    weight: Option<&Tensor<'_>>,
    bias: Option<&Tensor<'_>>,
    eps: f64,
) -> Result<()> {
    let inputs = present([Some(input), weight, bias]);
    let mut values = call.output(output, input.data_type(), &inputs)?;
    let mut means = Optional::new(call, statistics[0], &inputs)?;
    let mut deviations = Optional::new(call, statistics[1], &inputs)?;
    call.run(&Method::new("instance_norm", FLOAT), input.data_type(), &mut |device, launch| {
        let (values, x) = (values.elements(), input.elements());
        let (means, deviations) = (means.elements(), deviations.elements());
        device.instance_norm(launch, values, means, deviations, x, elements(weight), elements(bias), eps)
    })?;
    values.finish()?;
    means.finish()?;
    deviations.finish()
}

/// Computes the gradients of [`instance_norm`].
pub(crate) fn instance_norm_backward<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_weight: Option<&Tensor<'c>>,
    grad_bias: Option<&Tensor<'c>>,
    grad_output: &Tensor<'c>,
    input: &Tensor<'c>,
    weight: Option<&Tensor<'c>>,
    axis: i64,
    eps: f64,
) -> Result<()> {
    expect_shape("grad_input", grad_input, input.dims())?;
    expect_shape("grad_output", grad_output, input.dims())?;
    let dims = sizes(input, axis)?;
    let input = shaped(call, input, &dims)?;
    let grad_output = shaped(call, &call.to_type(grad_output, input.data_type())?, &dims)?;
    let weight = by_channel(call, "scale", weight, dims[1])?;
    let ty = wide(input.data_type());
    let (mean, deviation) = (call.temporary(ty, &dims[..2])?, call.temporary(ty, &dims[..2])?);
    let unused = call.tensor_like(&input)?;
    instances(call, &unused, [Some(&mean), Some(&deviation)], &input, None, None, eps)?;
    let sums = [("grad_scale", grad_weight), ("grad_bias", grad_bias)];
    let [of_weight, of_bias] = sums.map(|(name, sums)| {
        let Some(sums) = sums else { return Ok(None) };
        if sums.len() == dims[1] {
            return call.temporary(sums.data_type(), &dims[1..2]).map(Some);
        }
        Err(Error::invalid(format!("`{name}` has the shape {:?}, not {} elements", sums.dims(), dims[1])))
    });
    let (of_weight, of_bias) = (of_weight?, of_bias?);
    let inputs = present([Some(&input), Some(&grad_output), weight.as_ref()]);
    write_shaped(call, grad_input, &dims, |grad_input| {
        let mut dx = Optional::new(call, Some(grad_input), &inputs)?;
        let mut dscale = Optional::new(call, of_weight.as_ref(), &inputs)?;
        let mut dbias = Optional::new(call, of_bias.as_ref(), &inputs)?;
        call.run(&Method::new("instance_norm_grad", FLOAT), input.data_type(), &mut |device, launch| {
            device.instance_norm_grad(
                launch,
                dx.elements(),
                dscale.elements(),
                dbias.elements(),
                input.elements(),
                elements(weight.as_ref()),
                mean.elements(),
                deviation.elements(),
                grad_output.elements(),
            )
        })?;
        dx.finish()?;
        dscale.finish()?;
        dbias.finish()
    })?;
    for (target, sums) in [(grad_weight, of_weight), (grad_bias, of_bias)] {
        if let (Some(target), Some(sums)) = (target, sums) {
            call.copy(target, &sums.reshaped(target.dims())?)?;
        }
    }
    Ok(())
}

/// Computes the norm of the vectors along a dimension, which is kept with the length one.
fn norms<'c>(call: &'c Call, input: &Tensor<'_>, order: f64, axis: usize) -> Result<Tensor<'c>> {
    let mut dims = input.dims().to_vec();
    dims[axis] = 1;
    let target = call.temporary(input.data_type(), &dims)?;
    let mut out = call.output(&target, input.data_type(), &[input])?;
    call.run(&Method::new("p_norm", FLOAT), input.data_type(), &mut |device, launch| {
        device.p_norm(
            launch,
            out.elements(),
            input.elements(),
            &PNormAttributes { porder: order, axis: axis as i64, keep_dim: true, asvector: false },
        )
    })?;
    out.finish()?;
    Ok(target)
}

fn divisors<'c>(call: &'c Call, norms: &Tensor<'_>, eps: f64) -> Result<Tensor<'c>> {
    call.formula(
        &Method::new("maximum", FLOAT | INTEGER),
        [norms.into(), eps.into()],
        &mut |device, launch, out, [a, b]| device.maximum(launch, out, a, b),
    )
}

/// Divides vectors by their norm, or by `eps` if that is larger.
pub(crate) fn normalize(
    call: &Call,
    output: &Tensor<'_>,
    input: &Tensor<'_>,
    order: f32,
    axis: i64,
    eps: f64,
) -> Result<()> {
    let axis = input.dimension(axis)?;
    let norms = norms(call, input, order.into(), axis)?;
    let divisors = divisors(call, &norms, eps)?;
    call.write(
        &Method::new("divide", FLOAT),
        output,
        [input.into(), (&divisors).into()],
        &mut |device, launch, out, [a, b]| device.divide(launch, out, a, b),
    )
}

/// Computes the gradient of [`normalize`].
///
/// With `y = x / max(n, eps)`, the gradient of `n` is `-sum(dy * x) / n^2`, and 0 where `eps` is the divisor.
pub(crate) fn normalize_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    order: f32,
    axis: i64,
    eps: f64,
) -> Result<()> {
    let (order, axis) = (f64::from(order), input.dimension(axis)?);
    let ty = wide(input.data_type());
    let (input, grad_output) = (call.to_type(input, ty)?, call.to_type(grad_output, ty)?);
    let norms = norms(call, &input, order, axis)?;
    let divisors = divisors(call, &norms, eps)?;
    let products = multiply(call, &grad_output, &input)?;
    let sums = call.tensor_like(&norms)?;
    let mut out = call.output(&sums, ty, &[])?;
    call.run(&Method::new("sum", FLOAT), ty, &mut |device, launch| {
        device.sum(
            launch,
            out.elements(),
            products.elements(),
            &SumAttributes { axis: &[axis as i64], keep_dim: true, reduce_all: false },
        )
    })?;
    out.finish()?;
    let squares = multiply(call, &divisors, &divisors)?;
    let of_norms = scale(call, &divide(call, &sums, &squares)?, -1.0, 0.0)?;
    let is_divisor = call.formula(
        &Method::new("greater_equal", FLOAT | INTEGER).yields_bool(),
        [(&norms).into(), eps.into()],
        &mut |device, launch, out, [a, b]| device.greater_equal(launch, out, a, b),
    )?;
    let of_norms = multiply(call, &of_norms, &call.to_type(&is_divisor, ty)?)?;
    let direct = divide(call, &grad_output, &divisors)?;
    let through_norms = call.tensor_like(&input)?;
    let mut dx = call.output(&through_norms, ty, &[])?;
    call.run(&Method::new("p_norm_grad", FLOAT), ty, &mut |device, launch| {
        let (x, norms, dout) = (input.elements(), norms.elements(), of_norms.elements());
        device.p_norm_grad(
            launch,
            dx.elements(),
            x,
            norms,
            dout,
            &PNormAttributes { porder: order, axis: axis as i64, keep_dim: true, asvector: false },
        )
    })?;
    dx.finish()?;
    call.write(
        &Method::new("add", FLOAT),
        grad_input,
        [(&direct).into(), (&through_norms).into()],
        &mut |device, launch, out, [a, b]| device.add(launch, out, a, b),
    )
}
