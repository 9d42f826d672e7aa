//! Rules that read and write slices, ranges, and elements at indices along a dimension.

use super::places::index_fill;
use tenon::device::{Error, Result};
use tenon_operators::attributes::PutAlongAxisAttributes;

use crate::compute::number::Category;
use crate::compute::rules::layout;
use crate::compute::rules::shared::{expect_shape, fill, in_steps, kernel, numeric};
use crate::compute::{BOOL, COMPLEX, Call, FLOAT, INTEGER, Method, Number, Tensor};

/// Returns the slice of a tensor at an index. Negative indices count from the end.
fn slice_at<'c>(tensor: &Tensor<'c>, dim: i64, index: i64) -> Result<Tensor<'c>> {
    let dim = tensor.dimension(dim)?;
    let len = tensor.dims().get(dim).copied().unwrap_or(0) as i64;
    if !(-len..len).contains(&index) {
        let message = format!("the index {index} is out of range in the shape {:?}", tensor.dims());
        return Err(Error::invalid(message));
    }
    tensor.selected(dim, index.rem_euclid(len) as usize)
}

/// Returns the slices of a tensor from a start to an end, with a step. As in Python, numbers out of range are
/// clamped.
fn range<'c>(tensor: &Tensor<'c>, dim: i64, &[start, end, step]: &[i64; 3]) -> Result<Tensor<'c>> {
    let place = tensor.dimension(dim)?;
    let Some(&len) = tensor.dims().get(place) else {
        return Err(Error::invalid("a tensor without dimensions has no slices"));
    };
    if step < 1 {
        return Err(Error::invalid(format!("the step {step} is less than 1")));
    }
    let at = |index: i64| if index < 0 { index.saturating_add(len as i64) } else { index };
    let within = |index: i64| at(index).clamp(0, len as i64) as usize;
    let (start, end) = (within(start), within(end));
    let count = end.saturating_sub(start).div_ceil(step as usize);
    tensor.sliced(place, start, count, step as usize)
}

/// Reads a slice.
pub(crate) fn select<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    index: i64,
) -> Result<()> {
    let part = slice_at(input, dim, index)?;
    expect_shape("out", out, part.dims())?;
    layout::copy(call, out, &part)
}

/// Reads the slices of a range.
pub(crate) fn slice<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    bounds: &[i64; 3],
) -> Result<()> {
    let part = range(input, dim, bounds)?;
    expect_shape("null_out", out, part.dims())?;
    layout::copy(call, out, &part)
}

/// Copies a tensor, or zeros if there is none, and replaces a part.
fn replace<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: Option<&Tensor<'c>>,
    source: &Tensor<'c>,
    part: impl Fn(&Tensor<'c>) -> Result<Tensor<'c>>,
) -> Result<()> {
    expect_shape("the slices", source, part(out)?.dims())?;
    let inputs: Vec<&Tensor<'_>> = [source].into_iter().chain(input).collect();
    in_steps(call, out, &inputs, |out| {
        match input {
            Some(input) => {
                expect_shape("out", out, input.dims())?;
                call.copy(out, input)?;
            }
            None => fill(call, out, Number::Integer(0))?,
        }
        call.copy(&part(out)?, source)
    })
}

fn expect_sizes(tensor: &Tensor<'_>, sizes: &[i64]) -> Result<()> {
    if tensor.dims().iter().map(|&dim| dim as i64).eq(sizes.iter().copied()) {
        Ok(())
    } else {
        Err(Error::invalid(format!("the shape is {:?} instead of {sizes:?}", tensor.dims())))
    }
}

/// Computes the gradient of reading a slice: zeros elsewhere.
pub(crate) fn select_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    sizes: &[i64],
    dim: i64,
    index: i64,
) -> Result<()> {
    expect_sizes(grad_input, sizes)?;
    replace(call, grad_input, None, grad_output, |whole| slice_at(whole, dim, index))
}

/// Copies a tensor, and replaces a slice.
pub(crate) fn select_scatter<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    source: &Tensor<'c>,
    dim: i64,
    index: i64,
) -> Result<()> {
    replace(call, out, Some(input), source, |whole| slice_at(whole, dim, index))
}

/// Computes the gradient of reading a range: zeros elsewhere.
pub(crate) fn slice_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    sizes: &[i64],
    dim: i64,
    bounds: &[i64; 3],
) -> Result<()> {
    expect_sizes(grad_input, sizes)?;
    replace(call, grad_input, None, grad_output, |whole| range(whole, dim, bounds))
}

/// Copies a tensor, and replaces the slices of a range.
pub(crate) fn slice_scatter<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    source: &Tensor<'c>,
    dim: i64,
    bounds: &[i64; 3],
) -> Result<()> {
    replace(call, out, Some(input), source, |whole| range(whole, dim, bounds))
}

/// Reads slices at indices.
pub(crate) fn index_select<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    index: &Tensor<'c>,
) -> Result<()> {
    input.dimension(dim)?;
    let [input, out, index] = [input, out, index].map(Tensor::with_a_dimension);
    let (input, out, index) = (input?, out?, index?);
    let method = Method::new("gather", FLOAT | INTEGER | BOOL | COMPLEX);
    kernel(call, &out, input.data_type(), &[&input, &index], &method, &mut |device, launch, out| {
        device.gather(launch, out, input.elements(), index.elements(), dim)
    })
}

/// Adds each gradient to the slice that it belongs to.
pub(crate) fn index_select_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad: &Tensor<'c>,
    sizes: &[i64],
    dim: i64,
    index: &Tensor<'c>,
) -> Result<()> {
    expect_sizes(grad_input, sizes)?;
    let dout = call.to_type(grad, grad_input.data_type())?;
    let [target, dout, index] = [grad_input, &dout, index].map(Tensor::with_a_dimension);
    let (target, dout, index) = (target?, dout?, index?);
    let method = Method::new("gather_grad", FLOAT | INTEGER);
    kernel(call, &target, dout.data_type(), &[&dout, &index], &method, &mut |device, launch, out| {
        device.gather_grad(launch, out, index.elements(), dout.elements(), dim)
    })
}

/// Reads elements at indices along a dimension, each selected individually.
pub(crate) fn gather<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    index: &Tensor<'c>,
) -> Result<()> {
    input.dimension(dim)?;
    if index.len() == 0 {
        return expect_shape("out", out, index.dims());
    }
    let [input, out, index] = [input, out, index].map(Tensor::with_a_dimension);
    let (input, out, index) = (input?, out?, index?);
    let method = Method::new("take_along_axis", FLOAT | INTEGER | BOOL | COMPLEX);
    kernel(call, &out, input.data_type(), &[&input, &index], &method, &mut |device, launch, out| {
        device.take_along_axis(launch, out, input.elements(), index.elements(), dim)
    })
}

/// Adds each gradient to the element that it belongs to.
pub(crate) fn gather_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    dim: i64,
    index: &Tensor<'c>,
) -> Result<()> {
    grad_input.dimension(dim)?;
    if index.len() == 0 {
        return fill(call, grad_input, Number::Integer(0));
    }
    let dout = call.to_type(grad_output, grad_input.data_type())?;
    let [target, dout, index] = [grad_input, &dout, index].map(Tensor::with_a_dimension);
    let (target, dout, index) = (target?, dout?, index?);
    let method = Method::new("take_along_axis_grad", FLOAT | INTEGER);
    kernel(call, &target, dout.data_type(), &[&dout, &index], &method, &mut |device, launch, out| {
        device.take_along_axis_grad(launch, out, index.elements(), dout.elements(), dim)
    })
}

/// Writes the elements of a tensor at indices along a dimension, each selected individually.
pub(crate) fn scatter<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    source: &Tensor<'c>,
    index: &Tensor<'c>,
    reduce: &str,
) -> Result<()> {
    input.dimension(dim)?;
    let reduce = match reduce {
        "" => "assign",
        "add" => "add",
        "multiply" => "mul",
        other => {
            return Err(Error::invalid(format!("`reduce` is \"{other}\", neither \"add\" nor \"multiply\"")));
        }
    };
    if index.len() == 0 {
        return layout::copy(call, out, input);
    }
    let source = call.to_type(source, input.data_type())?;
    let [mut x, mut target, mut source, mut index] =
        [&numeric(call, input)?, out, &numeric(call, &source)?, index].map(Tensor::clone);
    for tensor in [&mut x, &mut target, &mut source, &mut index] {
        *tensor = tensor.with_a_dimension()?;
    }
    let mut axis = x.dimension(dim)?;
    if Category::of(x.data_type()) == Category::Complex && reduce != "mul" {
        let pairs = [index.dims(), &[2]].concat();
        index = index.unsqueezed(index.rank())?.expanded(&pairs)?;
        (x, target, source) = (x.as_pairs()?, target.as_pairs()?, source.as_pairs()?);
        axis = axis.min(x.rank() - 2);
    }
    let method = Method::new("put_along_axis", FLOAT | INTEGER);
    kernel(call, &target, x.data_type(), &[&x, &source, &index], &method, &mut |device, launch, out| {
        let (x, index, source) = (x.elements(), index.elements(), source.elements());
        device.put_along_axis(
            launch,
            out,
            x,
            index,
            source,
            &PutAlongAxisAttributes { axis: axis as i64, reduce, include_self: true },
        )
    })
}

/// Writes a number at indices along a dimension.
pub(crate) fn scatter_number<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    value: Number,
    index: &Tensor<'c>,
    reduce: &str,
) -> Result<()> {
    let source = call.scalar(value, input.data_type())?.expanded(index.dims())?;
    scatter(call, out, input, dim, &source, index, reduce)
}

/// Encodes indices as one-hot vectors.
pub(crate) fn one_hot<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, classes: i64) -> Result<()> {
    if classes != -1 && out.dims().last().map(|&len| len as i64) != Some(classes) {
        let message = format!("the result has the shape {:?} for {classes} classes", out.dims());
        return Err(Error::invalid(message));
    }
    kernel(
        call,
        out,
        out.data_type(),
        &[input],
        &Method::new("one_hot", INTEGER),
        &mut |device, launch, out| device.one_hot(launch, out, input.elements()),
    )
}

/// Sets the slices at indices along a dimension to a number.
pub(crate) fn index_fill_number<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    index: &Tensor<'c>,
    value: Number,
) -> Result<()> {
    let value = call.scalar(value, input.data_type())?;
    index_fill(call, out, input, dim, index, &value)
}
