//! Rules for convolutions in `space` dimensions. The lengths of results are those in PyTorch's documentation.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::{ConvAttributes, ConvTransposeAttributes};

use super::windows::{batched, each};
use crate::compute::rules::optional::{Optional, present};
use crate::compute::rules::shared::{expect_shape, sum};
use crate::compute::rules::terms::add;
use crate::compute::{Call, FLOAT, Method, Tensor};

/// The checked attributes of a convolution.
struct Attributes {
    strides: Vec<i64>,
    paddings: Vec<i64>,
    dilations: Vec<i64>,
    format: &'static str,
}

impl Attributes {
    fn new(space: usize, stride: &[i64], padding: &[i64], dilation: &[i64]) -> Result<Self> {
        Ok(Self {
            strides: each("stride", stride, space, 1)?,
            paddings: each("padding", padding, space, 0)?,
            dilations: each("dilation", dilation, space, 1)?,
            format: if space == 3 { "NCDHW" } else { "NCHW" },
        })
    }

    /// Returns the attributes of the operator `conv`.
    fn conv(&self, groups: i64) -> ConvAttributes<'_> {
        let Self { strides, paddings, dilations, format } = self;
        ConvAttributes {
            strides,
            paddings,
            padding_algorithm: "EXPLICIT",
            dilations,
            groups,
            data_format: format,
        }
    }

    /// Returns the attributes of the operator `conv_transpose`.
    fn conv_transpose(&self, groups: i64) -> ConvTransposeAttributes<'_> {
        let Self { strides, paddings, dilations, format } = self;
        ConvTransposeAttributes {
            strides,
            paddings,
            padding_algorithm: "EXPLICIT",
            dilations,
            groups,
            data_format: format,
        }
    }

    /// Returns the shape of the smaller images of a convolution: one element for each window of the larger
    /// images.
    fn windows(&self, images: &Tensor<'_>, channels: usize, weight: &Tensor<'_>) -> Result<Vec<usize>> {
        let mut dims = vec![images.dims()[0], channels];
        for (n, (&len, &kernel)) in images.dims()[2..].iter().zip(&weight.dims()[2..]).enumerate() {
            let span = self.dilations[n].saturating_mul(kernel as i64 - 1).saturating_add(1);
            let rest = (len as i64).saturating_add(2 * self.paddings[n]).saturating_sub(span);
            let count = if rest < 0 { 0 } else { rest / self.strides[n] + 1 };
            dims.push(count as usize);
        }
        Ok(dims)
    }
}

fn expect_rank(weight: &Tensor<'_>, space: usize) -> Result<()> {
    if weight.rank() == space + 2 {
        Ok(())
    } else {
        Err(Error::invalid(format!("`weight` has the shape {:?}", weight.dims())))
    }
}

/// Adds a number to each channel of images.
fn add_bias(call: &Call, out: &Tensor<'_>, bias: Option<&Tensor<'_>>) -> Result<()> {
    let Some(bias) = bias else { return Ok(()) };
    expect_shape("bias", bias, &out.dims()[1..2])?;
    let bias = (2..out.rank()).try_fold(bias.clone(), |view, dim| view.unsqueezed(dim - 1))?;
    call.copy(out, &add(call, out, &bias)?)
}

/// Writes the sum of each channel of the gradient.
fn write_bias_gradient(
    call: &Call,
    grad_bias: Option<&Tensor<'_>>,
    bias_sizes: Option<&[i64]>,
    grad_output: &Tensor<'_>,
) -> Result<()> {
    let Some(grad_bias) = grad_bias else { return Ok(()) };
    if let Some(sizes) = bias_sizes {
        let dims: Vec<usize> = sizes.iter().map(|&dim| dim.max(0) as usize).collect();
        expect_shape("grad_bias", grad_bias, &dims)?;
    }
    let axes: Vec<i64> = (0..grad_output.rank() as i64).filter(|&dim| dim != 1).collect();
    sum(call, grad_bias, grad_output, &axes)
}

/// Computes a convolution.
pub(crate) fn convolution(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    bias: Option<&Tensor<'_>>,
    space: usize,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<()> {
    let attributes = Attributes::new(space, stride, padding, dilation)?;
    expect_rank(weight, space)?;
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    expect_shape("out", &out, &attributes.windows(&input, weight.dims()[0], weight)?)?;
    let weight = call.to_type(weight, input.data_type())?;
    if let Some(bias) = bias {
        expect_shape("bias", bias, &out.dims()[1..2])?;
    }
    let bias = bias.map(|bias| call.to_type(bias, input.data_type())).transpose()?;
    let mut result = call.output(&out, input.data_type(), &[&input, &weight])?;
    let method = Method::new(if bias.is_some() { "conv_bias" } else { "conv" }, FLOAT);
    call.run(&method, input.data_type(), &mut |device, launch| {
        let (out, x, filter) = (result.elements(), input.elements(), weight.elements());
        let with = attributes.conv(groups);
        match &bias {
            None => device.conv(launch, out, x, filter, &with),
            Some(bias) => device.conv_bias(launch, out, x, filter, bias.elements(), &with),
        }
    })?;
    result.finish()
}

/// Computes the requested gradients of [`convolution`].
pub(crate) fn convolution_backward(
    call: &Call,
    grad_input: Option<&Tensor<'_>>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    bias_sizes: Option<&[i64]>,
    space: usize,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<()> {
    let attributes = Attributes::new(space, stride, padding, dilation)?;
    expect_rank(weight, space)?;
    let input = batched("input", input, space)?;
    let ty = input.data_type();
    let grad_output = call.to_type(&batched("grad_output", grad_output, space)?, ty)?;
    expect_shape("grad_output", &grad_output, &attributes.windows(&input, weight.dims()[0], weight)?)?;
    write_bias_gradient(call, grad_bias, bias_sizes, &grad_output)?;
    let grad_input = grad_input.map(|gradient| batched("grad_input", gradient, space)).transpose()?;
    let weight = call.to_type(weight, ty)?;
    let inputs = present([Some(&input), Some(&weight), Some(&grad_output)]);
    let mut dx = Optional::new(call, grad_input.as_ref(), &inputs)?;
    let mut dfilter = Optional::new(call, grad_weight, &inputs)?;
    call.run(&Method::new("conv_grad", FLOAT), ty, &mut |device, launch| {
        let (dx, dfilter) = (dx.elements(), dfilter.elements());
        let (x, filter, dout) = (input.elements(), weight.elements(), grad_output.elements());
        device.conv_grad(launch, dx, dfilter, x, filter, dout, &attributes.conv(groups))
    })?;
    dx.finish()?;
    dfilter.finish()
}

/// Checks that the result of a transposed convolution has the length that its attributes determine.
///
/// Without `output_padding`, every possible length of the result is accepted.
fn expect_transposed(
    result: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    attributes: &Attributes,
    output_padding: Option<&[i64]>,
    groups: i64,
) -> Result<()> {
    let space = input.rank() - 2;
    let output_padding =
        output_padding.map(|numbers| each("output_padding", numbers, space, 0)).transpose()?;
    let mut dims = vec![input.dims()[0] as i64, weight.dims()[1] as i64 * groups];
    for n in 0..space {
        let (stride, dilation) = (attributes.strides[n], attributes.dilations[n]);
        let (len, kernel) = (input.dims()[n + 2] as i64, weight.dims()[n + 2] as i64);
        let least = (len - 1) * stride - 2 * attributes.paddings[n] + dilation * (kernel - 1) + 1;
        let added = match &output_padding {
            Some(numbers) if numbers[n] >= stride.max(dilation) => {
                return Err(Error::invalid(format!("`output_padding` has the number {}", numbers[n])));
            }
            Some(numbers) => numbers[n],
            None => (result.dims()[n + 2] as i64 - least).clamp(0, stride.max(dilation) - 1),
        };
        dims.push(least + added);
    }
    let dims: Vec<usize> = dims.iter().map(|&dim| dim.max(0) as usize).collect();
    expect_shape("the result", result, &dims)
}

/// Computes a transposed convolution.
pub(crate) fn transposed(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    bias: Option<&Tensor<'_>>,
    space: usize,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<()> {
    let attributes = Attributes::new(space, stride, padding, dilation)?;
    expect_rank(weight, space)?;
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    expect_transposed(&out, &input, weight, &attributes, Some(output_padding), groups)?;
    let weight = call.to_type(weight, input.data_type())?;
    let mut result = call.output(&out, input.data_type(), &[&input, &weight])?;
    call.run(&Method::new("conv_transpose", FLOAT), input.data_type(), &mut |device, launch| {
        let (out, x, filter) = (result.elements(), input.elements(), weight.elements());
        device.conv_transpose(launch, out, x, filter, &attributes.conv_transpose(groups))
    })?;
    result.finish()?;
    add_bias(call, &out, bias)
}

/// Computes the requested gradients of [`transposed`].
pub(crate) fn transposed_backward(
    call: &Call,
    grad_input: Option<&Tensor<'_>>,
    grad_weight: Option<&Tensor<'_>>,
    grad_bias: Option<&Tensor<'_>>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    weight: &Tensor<'_>,
    bias_sizes: Option<&[i64]>,
    space: usize,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<()> {
    let attributes = Attributes::new(space, stride, padding, dilation)?;
    expect_rank(weight, space)?;
    let input = batched("input", input, space)?;
    let ty = input.data_type();
    let grad_output = call.to_type(&batched("grad_output", grad_output, space)?, ty)?;
    expect_transposed(&grad_output, &input, weight, &attributes, None, groups)?;
    write_bias_gradient(call, grad_bias, bias_sizes, &grad_output)?;
    let grad_input = grad_input.map(|gradient| batched("grad_input", gradient, space)).transpose()?;
    let weight = call.to_type(weight, ty)?;
    let inputs = present([Some(&input), Some(&weight), Some(&grad_output)]);
    let mut dx = Optional::new(call, grad_input.as_ref(), &inputs)?;
    let mut dfilter = Optional::new(call, grad_weight, &inputs)?;
    call.run(&Method::new("conv_transpose_grad", FLOAT), ty, &mut |device, launch| {
        let (dx, dfilter) = (dx.elements(), dfilter.elements());
        let (x, filter, dout) = (input.elements(), weight.elements(), grad_output.elements());
        device.conv_transpose_grad(launch, dx, dfilter, x, filter, dout, &attributes.conv_transpose(groups))
    })?;
    dx.finish()?;
    dfilter.finish()
}
