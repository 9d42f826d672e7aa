//! Rules for image blocks as columns, and for overlapping slices.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::UnfoldAttributes;

use crate::compute::rules::elementwise::filled::zero;
use crate::compute::rules::layers::windows::{batched, each};
use crate::compute::rules::shared::expect_shape;
use crate::compute::rules::terms::add;
use crate::compute::{Call, FLOAT, INTEGER, Method, Tensor};

/// Returns the lists of a call in the form that the operators take.
fn lists(kernel_size: &[i64], dilation: &[i64], padding: &[i64], stride: &[i64]) -> Result<[Vec<i64>; 4]> {
    Ok([
        each("kernel_size", kernel_size, 2, 1)?,
        each("stride", stride, 2, 1)?,
        each("padding", padding, 2, 0)?,
        each("dilation", dilation, 2, 1)?,
    ])
}

/// Checks that there is a column for each block of the images. A block that is larger than an image does not
/// count, as in PyTorch's documentation of `Unfold`.
fn expect_columns(columns: &Tensor<'_>, images: &Tensor<'_>, lists: [&[i64]; 4]) -> Result<()> {
    let [sizes, strides, paddings, dilations] = lists;
    let count = |n: usize| {
        let room = images.dims()[2 + n] as i64 + 2 * paddings[n];
        (room - dilations[n] * (sizes[n] - 1) - 1).div_euclid(strides[n]) + 1
    };
    let expected = (0..2).map(|n| count(n).max(0) as usize).product();
    if columns.dims()[2] == expected {
        Ok(())
    } else {
        Err(Error::invalid(format!(
            "images of the shape {:?} have {expected} blocks, and the columns have the shape {:?}",
            images.dims(),
            columns.dims()
        )))
    }
}

/// Extracts blocks of images as columns.
pub(crate) fn im2col(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    kernel_size: &[i64],
    dilation: &[i64],
    padding: &[i64],
    stride: &[i64],
) -> Result<()> {
    let [sizes, strides, paddings, dilations] = lists(kernel_size, dilation, padding, stride)?;
    let (input, out) = (batched("input", input, 2)?, batched("out", out, 1)?);
    expect_columns(&out, &input, [&sizes, &strides, &paddings, &dilations])?;
    let mut result = call.output(&out, input.data_type(), &[&input])?;
    call.run(&Method::new("unfold", FLOAT | INTEGER), input.data_type(), &mut |device, launch| {
        let (out, x) = (result.elements(), input.elements());
        device.unfold(
            launch,
            out,
            x,
            &UnfoldAttributes {
                kernel_sizes: &sizes,
                strides: &strides,
                paddings: &paddings,
                dilations: &dilations,
            },
        )
    })?;
    result.finish()
}

/// Sums columns at the positions of their blocks in images.
pub(crate) fn col2im(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    output_size: &[i64],
    kernel_size: &[i64],
    dilation: &[i64],
    padding: &[i64],
    stride: &[i64],
) -> Result<()> {
    let [sizes, strides, paddings, dilations] = lists(kernel_size, dilation, padding, stride)?;
    let (input, out) = (batched("input", input, 1)?, batched("out", out, 2)?);
    let output_size = each("output_size", output_size, 2, 1)?;
    if !out.dims()[2..].iter().map(|&dim| dim as i64).eq(output_size.iter().copied()) {
        return Err(Error::invalid(format!(
            "the result has the shape {:?}, not {output_size:?}",
            out.dims()
        )));
    }
    expect_columns(&input, &out, [&sizes, &strides, &paddings, &dilations])?;
    let mut result = call.output(&out, input.data_type(), &[&input])?;
    call.run(&Method::new("fold", FLOAT | INTEGER), input.data_type(), &mut |device, launch| {
        let (out, x) = (result.elements(), input.elements());
        device.fold(
            launch,
            out,
            x,
            &UnfoldAttributes {
                kernel_sizes: &sizes,
                strides: &strides,
                paddings: &paddings,
                dilations: &dilations,
            },
        )
    })?;
    result.finish()
}

/// The slices along a dimension.
struct Slices {
    dim: usize,
    count: usize,
    size: usize,
    step: usize,
}

impl Slices {
    /// Checks the arguments, and that the slices of `whole` have the shape of `slices`.
    fn new(whole: &Tensor<'_>, slices: &Tensor<'_>, dim: i64, size: i64, step: i64) -> Result<Self> {
        let dim = whole.dimension(dim)?;
        let mut dims = whole.dims().to_vec();
        let (len, refused) = (dims[dim], || Error::invalid(format!("`size` is {size}, and `step` {step}")));
        let size = usize::try_from(size).ok().filter(|&size| size <= len).ok_or_else(refused)?;
        let step = usize::try_from(step).ok().filter(|&step| step > 0).ok_or_else(refused)?;
        let count = (len - size) / step + 1;
        dims[dim] = count;
        dims.push(size);
        expect_shape("the slices", slices, &dims)?;
        Ok(Self { dim, count, size, step })
    }

    /// Returns the elements at an index in all slices, as views of the whole and of the slices.
    fn part<'c>(&self, whole: &Tensor<'c>, slices: &Tensor<'c>, index: usize) -> Result<[Tensor<'c>; 2]> {
        let of_whole = whole.sliced(self.dim, index, self.count, self.step)?;
        Ok([of_whole, slices.selected(slices.rank() - 1, index)?])
    }
}

/// Extracts slices along a dimension: `out[.., i, .., j] = input[.., i * step + j, ..]`.
pub(crate) fn unfold(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    dim: i64,
    size: i64,
    step: i64,
) -> Result<()> {
    let input = input.with_a_dimension()?;
    // A tensor without dimensions has one slice, which has no dimension of its own.
    let out = if out.rank() < input.rank() + 1 { out.unsqueezed(0)? } else { out.clone() };
    let slices = Slices::new(&input, &out, dim, size, step)?;
    for index in 0..slices.size {
        let [from, to] = slices.part(&input, &out, index)?;
        call.copy(&to, &from)?;
    }
    Ok(())
}

/// Adds up the gradients of slices.
pub(crate) fn unfold_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    dim: i64,
    size: i64,
    step: i64,
) -> Result<()> {
    let sums = grad_input.with_a_dimension()?;
    let is_number = grad_output.rank() < sums.rank() + 1;
    let grad_output = if is_number { grad_output.unsqueezed(0)? } else { grad_output.clone() };
    let slices = Slices::new(&sums, &grad_output, dim, size, step)?;
    zero(call, &sums)?;
    for index in 0..slices.size {
        let [sum, gradient] = slices.part(&sums, &grad_output, index)?;
        call.copy(&sum, &add(call, &sum, &gradient)?)?;
    }
    Ok(())
}
