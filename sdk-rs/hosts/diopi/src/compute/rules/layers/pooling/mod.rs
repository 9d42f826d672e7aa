//! Rules for pooling in `space` dimensions. The lengths of results are those in PyTorch's documentation of
//! `MaxPool2d` and `AvgPool2d`.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

mod windows;

use tenon::device::{Error, Result};

use super::windows::batched;
use crate::compute::rules::elementwise::filled::{scale, zero};
use crate::compute::rules::shared::expect_shape;
use crate::compute::{Call, DataType, FLOAT, Method, Tensor};
use windows::{Lists, Windows};

/// Computes the maxima of windows, and their indices if requested.
pub(crate) fn max_pool(
    call: &Call,
    out: &Tensor<'_>,
    indices: Option<&Tensor<'_>>,
    input: &Tensor<'_>,
    space: usize,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    dilations: &[i64],
    ceil_mode: bool,
) -> Result<()> {
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    let lists = Lists { sizes, strides, paddings, dilations, ceil_mode };
    maxima(call, &out, indices, &input, &Windows::sliding(&input, &out, space, lists)?, space)
}

/// Computes the maxima of windows and their indices.
pub(crate) fn max_pool_with_indices(
    call: &Call,
    out: &Tensor<'_>,
    indices: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    dilations: &[i64],
    ceil_mode: bool,
) -> Result<()> {
    max_pool(call, out, Some(indices), input, space, sizes, strides, paddings, dilations, ceil_mode)
}

/// Computes the maxima of windows that partition the input, and their indices if requested.
pub(crate) fn adaptive_max_pool(
    call: &Call,
    out: &Tensor<'_>,
    indices: Option<&Tensor<'_>>,
    input: &Tensor<'_>,
    space: usize,
) -> Result<()> {
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    maxima(call, &out, indices, &input, &Windows::adaptive(&input, &out, space)?, space)
}

/// Computes the maxima of windows that partition the input, and their indices.
pub(crate) fn adaptive_max_pool_with_indices(
    call: &Call,
    out: &Tensor<'_>,
    indices: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
) -> Result<()> {
    adaptive_max_pool(call, out, Some(indices), input, space)
}

fn maxima(
    call: &Call,
    out: &Tensor<'_>,
    indices: Option<&Tensor<'_>>,
    input: &Tensor<'_>,
    windows: &Windows,
    space: usize,
) -> Result<()> {
    let indices = match indices {
        Some(indices) => batched("indices", indices, space)?,
        None => call.temporary(DataType::INT64, out.dims())?,
    };
    expect_shape("indices", &indices, out.dims())?;
    if out.len() == 0 { Ok(()) } else { windows.largest(call, out, &indices, input) }
}

/// Adds each gradient at the index of the maximum.
pub(crate) fn max_pool_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    indices: &Tensor<'_>,
    space: usize,
) -> Result<()> {
    let grad_input = batched("grad_input", grad_input, space)?;
    let (grad_output, indices) =
        (batched("grad_output", grad_output, space)?, batched("indices", indices, space)?);
    if grad_output.len() == 0 {
        return zero(call, &grad_input);
    }
    let ty = grad_input.data_type();
    let grad_output = call.to_type(&grad_output, ty)?;
    let mut dx = call.output(&grad_input, ty, &[&indices, &grad_output])?;
    call.run(&Method::new("max_pool_with_index_grad", FLOAT), ty, &mut |device, launch| {
        device.max_pool_with_index_grad(launch, dx.elements(), indices.elements(), grad_output.elements())
    })?;
    dx.finish()
}

/// Computes the means of windows, or their sums divided by a number.
pub(crate) fn avg_pool(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Option<i64>,
) -> Result<()> {
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    let lists = Lists { sizes, strides, paddings, dilations: &[1], ceil_mode };
    let windows = Windows::sliding(&input, &out, space, lists)?;
    if out.len() == 0 {
        return Ok(());
    }
    let Some(factor) = factor(&windows, divisor)? else {
        return windows.means(call, &out, &input, !count_include_pad);
    };
    let (framed, image) = framed(call, &input, &windows)?;
    call.copy(&image, &input)?;
    windows.without_paddings().means(call, &out, &framed, false)?;
    scale(call, &out, &out, factor)
}

/// Distributes each gradient over the elements of its window.
pub(crate) fn avg_pool_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    space: usize,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Option<i64>,
) -> Result<()> {
    let (grad_input, grad_output) =
        (batched("grad_input", grad_input, space)?, batched("grad_output", grad_output, space)?);
    let lists = Lists { sizes, strides, paddings, dilations: &[1], ceil_mode };
    let windows = Windows::sliding(&grad_input, &grad_output, space, lists)?;
    if grad_output.len() == 0 {
        return zero(call, &grad_input);
    }
    let Some(factor) = factor(&windows, divisor)? else {
        let x = call.tensor_like(&grad_input)?;
        return windows.means_backward(call, &grad_input, &grad_output, &x, !count_include_pad);
    };
    let (framed, image) = framed(call, &grad_input, &windows)?;
    let x = call.tensor_like(&framed)?;
    windows.without_paddings().means_backward(call, &framed, &grad_output, &x, false)?;
    scale(call, &grad_input, &image, factor)
}

/// Computes the means of windows that partition the input.
pub(crate) fn adaptive_avg_pool(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
) -> Result<()> {
    let (input, out) = (batched("input", input, space)?, batched("out", out, space)?);
    let windows = Windows::adaptive(&input, &out, space)?;
    if out.len() == 0 { Ok(()) } else { windows.means(call, &out, &input, true) }
}

/// Distributes each gradient over the elements of its window.
pub(crate) fn adaptive_avg_pool_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    space: usize,
) -> Result<()> {
    let (grad_input, grad_output) =
        (batched("grad_input", grad_input, space)?, batched("grad_output", grad_output, space)?);
    let windows = Windows::adaptive(&grad_input, &grad_output, space)?;
    if grad_output.len() == 0 {
        return zero(call, &grad_input);
    }
    let x = call.tensor_like(&grad_input)?;
    windows.means_backward(call, &grad_input, &grad_output, &x, true)
}

/// Computes the maxima or the means of windows.
pub(crate) fn pool(
    call: &Call,
    out: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
    mode: &str,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    dilations: &[i64],
    ceil_mode: bool,
    exclusive: bool,
    adaptive: bool,
) -> Result<()> {
    match (is_max(mode)?, adaptive) {
        (true, true) => adaptive_max_pool(call, out, None, input, space),
        (false, true) => adaptive_avg_pool(call, out, input, space),
        (true, false) => {
            max_pool(call, out, None, input, space, sizes, strides, paddings, dilations, ceil_mode)
        }
        (false, false) => {
            avg_pool(call, out, input, space, sizes, strides, paddings, ceil_mode, !exclusive, None)
        }
    }
}

/// Computes the gradient of [`pool`]. For maxima, uses their indices if given.
pub(crate) fn pool_backward(
    call: &Call,
    grad_input: &Tensor<'_>,
    grad_output: &Tensor<'_>,
    input: &Tensor<'_>,
    space: usize,
    mode: &str,
    sizes: &[i64],
    strides: &[i64],
    paddings: &[i64],
    dilations: &[i64],
    ceil_mode: bool,
    exclusive: bool,
    adaptive: bool,
    indices: Option<&Tensor<'_>>,
) -> Result<()> {
    match (is_max(mode)?, indices) {
        (true, Some(indices)) => max_pool_backward(call, grad_input, grad_output, indices, space),
        (true, None) => {
            let indices = call.temporary(DataType::INT64, grad_output.dims())?;
            let maxima = call.temporary(input.data_type(), grad_output.dims())?;
            if adaptive {
                adaptive_max_pool(call, &maxima, Some(&indices), input, space)?
            } else {
                max_pool(
                    call,
                    &maxima,
                    Some(&indices),
                    input,
                    space,
                    sizes,
                    strides,
                    paddings,
                    dilations,
                    ceil_mode,
                )?
            }
            max_pool_backward(call, grad_input, grad_output, &indices, space)
        }
        (false, _) if adaptive => adaptive_avg_pool_backward(call, grad_input, grad_output, space),
        (false, _) => avg_pool_backward(
            call,
            grad_input,
            grad_output,
            space,
            sizes,
            strides,
            paddings,
            ceil_mode,
            !exclusive,
            None,
        ),
    }
}

fn is_max(mode: &str) -> Result<bool> {
    match mode {
        "max" => Ok(true),
        "avg" => Ok(false),
        _ => Err(Error::invalid(format!("`mode` is `{mode}`, not `max` or `avg`"))),
    }
}

/// Returns the factor from the means of windows to their sums divided by a number.
fn factor(windows: &Windows, divisor: Option<i64>) -> Result<Option<f64>> {
    let elements: i64 = windows.sizes.iter().product();
    match divisor {
        None => Ok(None),
        Some(0) => Err(Error::invalid("`divisor_override` is 0")),
        Some(divisor) => Ok(Some(elements as f64 / divisor as f64)),
    }
}

/// Creates a temporary tensor for a zero-padded image, and a view of the image in it.
fn framed<'c>(call: &'c Call, image: &Tensor<'_>, windows: &Windows) -> Result<(Tensor<'c>, Tensor<'c>)> {
    let mut dims = image.dims().to_vec();
    let first = dims.len() - windows.sizes.len();
    for (dim, padding) in dims[first..].iter_mut().zip(windows.paddings.chunks(2)) {
        *dim += (padding[0] + padding[1]) as usize;
    }
    let framed = call.temporary(image.data_type(), &dims)?;
    zero(call, &framed)?;
    let mut inner = framed.clone();
    for (dim, padding) in (first..).zip(windows.paddings.chunks(2)) {
        inner = inner.sliced(dim, padding[0] as usize, image.dims()[dim], 1)?;
    }
    Ok((framed, inner))
}
