//! Rules that copy, join, slice and reorder tensors. Most of them copy between views.

use smallvec::SmallVec;
use tenon::device::{Error, Result};
use tenon_operators::attributes::Pad3dAttributes;
use tenon_operators::contiguous_strides;

use crate::compute::rules::shared::{dimensions, expect_shape, in_steps, kernel, numeric};
use crate::compute::{BOOL, COMPLEX, Call, FLOAT, INTEGER, Method, Place, Tensor};
use crate::runtime::MemoryFormat;

const ANY: u8 = FLOAT | INTEGER | BOOL | COMPLEX;

/// Copies elements with conversion and broadcasting. The tensors may share memory.
pub(crate) fn copy<'c>(call: &'c Call, target: &Tensor<'c>, source: &Tensor<'c>) -> Result<()> {
    in_steps(call, target, &[source], |target| call.copy(target, source))
}

/// Creates a tensor with the elements in the order of a memory format.
pub(crate) fn contiguous<'c>(
    call: &'c Call,
    out: Place,
    input: &Tensor<'c>,
    format: MemoryFormat,
) -> Result<()> {
    // The dimensions from the outermost to the innermost one in memory.
    let mut order: Vec<usize> = (0..input.rank()).collect();
    match format {
        MemoryFormat::CONTIGUOUS => {}
        MemoryFormat::PRESERVE => {
            order.sort_by_key(|&dim| std::cmp::Reverse(input.strides()[dim]));
        }
        MemoryFormat::CHANNELS_LAST1D | MemoryFormat::CHANNELS_LAST | MemoryFormat::CHANNELS_LAST3D => {
            let rank = match format {
                MemoryFormat::CHANNELS_LAST1D => 3,
                MemoryFormat::CHANNELS_LAST => 4,
                _ => 5,
            };
            if input.rank() != rank {
                let message = format!("{format:?} needs {rank} dimensions, not {:?}", input.dims());
                return Err(Error::invalid(message));
            }
            order[1..].rotate_left(1);
        }
        other => return Err(Error::invalid(format!("there is no memory format {other:?}"))),
    }
    let ordered: Vec<usize> = order.iter().map(|&dim| input.dims()[dim]).collect();
    let mut strides = vec![0; input.rank()];
    for (&dim, stride) in order.iter().zip(contiguous_strides(&ordered)?) {
        strides[dim] = stride as i64;
    }
    let made = call.make_strided(out, input.data_type(), input.dims(), Some(&strides))?;
    call.copy(&made, input)
}

/// Joins tensors along a dimension. As in PyTorch, empty vectors are skipped.
pub(crate) fn cat<'c>(call: &'c Call, out: &Tensor<'c>, tensors: &[Tensor<'c>], dim: i64) -> Result<()> {
    if tensors.is_empty() {
        return Err(Error::invalid("there are no tensors to concatenate"));
    }
    let dim = out.dimension(dim)?;
    if out.rank() == 0 {
        return Err(Error::invalid("tensors without dimensions cannot be concatenated"));
    }
    let parts: Vec<&Tensor<'_>> =
        tensors.iter().filter(|part| out.rank() == 1 || part.dims() != [0]).collect();
    let concat = Method::new("concat", ANY);
    let ty = out.data_type();
    if !parts.is_empty()
        && parts.iter().all(|part| part.data_type() == ty)
        && concat.check(call.library, ty).is_ok()
    {
        let elements: SmallVec<[_; 4]> = parts.iter().map(|part| part.elements().clone()).collect();
        return kernel(call, out, ty, &parts, &concat, &mut |device, launch, out| {
            device.concat(launch, out, &elements, dim as i64)
        });
    }
    in_steps(call, out, &parts, |out| {
        let mut start = 0;
        for part in &parts {
            let len = part.dims().get(dim).copied().unwrap_or(0);
            let end = out.dims()[dim].min(start + len);
            let place = out.sliced(dim, start, end - start, 1)?;
            expect_shape("tensors", part, place.dims())?;
            call.copy(&place, part)?;
            start += len;
        }
        if start == out.dims()[dim] {
            Ok(())
        } else {
            Err(Error::invalid(format!("{start} elements do not fill the shape {:?}", out.dims())))
        }
    })
}

/// Joins tensors of the same shape along a new dimension.
pub(crate) fn stack<'c>(call: &'c Call, out: &Tensor<'c>, tensors: &[Tensor<'c>], dim: i64) -> Result<()> {
    let dim = out.dimension(dim)?;
    if tensors.is_empty() || out.dims().get(dim) != Some(&tensors.len()) {
        let message = format!("{} tensors cannot be stacked to the shape {:?}", tensors.len(), out.dims());
        return Err(Error::invalid(message));
    }
    let inputs: Vec<&Tensor<'_>> = tensors.iter().collect();
    in_steps(call, out, &inputs, |out| {
        for (index, tensor) in tensors.iter().enumerate() {
            let place = out.selected(dim, index)?;
            expect_shape("tensors", tensor, place.dims())?;
            call.copy(&place, tensor)?;
        }
        Ok(())
    })
}

/// Splits a tensor into parts along a dimension.
pub(crate) fn split<'c>(
    call: &'c Call,
    outs: &[Tensor<'c>],
    input: &Tensor<'c>,
    sizes: &[i64],
    dim: i64,
) -> Result<()> {
    let dim = input.dimension(dim)?;
    let whole = input.dims().get(dim).copied().unwrap_or(0);
    if sizes.len() != outs.len()
        || sizes.iter().any(|&size| size < 0)
        || sizes.iter().sum::<i64>() != whole as i64
    {
        let message = format!("{whole} elements cannot be split into {} parts of {sizes:?}", outs.len());
        return Err(Error::invalid(message));
    }
    let mut start = 0;
    for (out, &size) in outs.iter().zip(sizes) {
        let part = input.sliced(dim, start, size as usize, 1)?;
        expect_shape("outs", out, part.dims())?;
        copy(call, out, &part)?;
        start += size as usize;
    }
    Ok(())
}

/// Swaps two dimensions.
pub(crate) fn transpose<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim0: i64,
    dim1: i64,
) -> Result<()> {
    let view = input.transposed(input.dimension(dim0)?, input.dimension(dim1)?)?;
    expect_shape("out", out, view.dims())?;
    copy(call, out, &view)
}

/// Permutes the dimensions.
pub(crate) fn permute<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, dims: &[i64]) -> Result<()> {
    let order = dimensions(input, dims)?;
    if order.len() != input.rank() {
        let message = format!("{dims:?} is no order of the dimensions of {:?}", input.dims());
        return Err(Error::invalid(message));
    }
    let view = input.permuted(&order)?;
    expect_shape("out", out, view.dims())?;
    copy(call, out, &view)
}

/// Repeats the whole tensor along each dimension.
pub(crate) fn repeat<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    repeats: &[i64],
) -> Result<()> {
    if repeats.len() < input.rank() || repeats.iter().any(|&count| count < 0) {
        let message =
            format!("a tensor of the shape {:?} cannot be repeated {repeats:?} times", input.dims());
        return Err(Error::invalid(message));
    }
    kernel(call, out, input.data_type(), &[input], &Method::new("tile", ANY), &mut |device, launch, out| {
        device.tile(launch, out, input.elements(), repeats)
    })
}

/// Moves elements along dimensions; elements that pass one end continue at the other.
pub(crate) fn roll<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    shifts: &[i64],
    dims: &[i64],
) -> Result<()> {
    if shifts.len() != dims.len() && !(dims.is_empty() && shifts.len() == 1) {
        return Err(Error::invalid(format!("there are {} shifts for the dimensions {dims:?}", shifts.len())));
    }
    for &dim in dims {
        input.dimension(dim)?;
    }
    if input.rank() == 0 || input.len() == 0 {
        return copy(call, out, input);
    }
    kernel(call, out, input.data_type(), &[input], &Method::new("roll", ANY), &mut |device, launch, out| {
        device.roll(launch, out, input.elements(), shifts, dims)
    })
}

/// Reverses dimensions.
pub(crate) fn flip<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, dims: &[i64]) -> Result<()> {
    dimensions(input, dims)?;
    if input.rank() == 0 || dims.is_empty() {
        return copy(call, out, input);
    }
    kernel(call, out, input.data_type(), &[input], &Method::new("flip", ANY), &mut |device, launch, out| {
        device.flip(launch, out, input.elements(), dims)
    })
}

/// Pads the ends of dimensions. The paddings are pairs, starting with the last dimension.
pub(crate) fn pad<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    pad: &[i64],
    mode: &str,
    value: Option<f64>,
) -> Result<()> {
    let padded = pad.len() / 2;
    if !pad.len().is_multiple_of(2) || padded > input.rank() {
        let message = format!("`pad` has {} numbers for the shape {:?}", pad.len(), input.dims());
        return Err(Error::invalid(message));
    }
    if mode == "constant" {
        let mut paddings = vec![0; 2 * (input.rank() - padded)];
        paddings.extend(pad.rchunks(2).flatten());
        let method = Method::new("pad", FLOAT | INTEGER | BOOL);
        return kernel(call, out, input.data_type(), &[input], &method, &mut |device, launch, out| {
            device.pad(launch, out, input.elements(), &paddings, value.unwrap_or(0.0))
        });
    }
    let mut images = numeric(call, input)?;
    let mut paddings = pad.to_vec();
    if mode == "circular" {
        // The rest of the input is padded, without the cropped elements.
        images = cut(&images, &mut paddings)?;
    }
    // The operator requires a batch dimension and a channel dimension.
    let mut target = out.clone();
    while images.rank() < padded + 2 {
        (images, target) = (images.unsqueezed(0)?, target.unsqueezed(0)?);
    }
    paddings.resize(2 * (images.rank() - 2), 0);
    let method = Method::new("pad3d", FLOAT | INTEGER);
    kernel(call, &target, images.data_type(), &[&images], &method, &mut |device, launch, out| {
        device.pad3d(
            launch,
            out,
            images.elements(),
            &Pad3dAttributes { paddings: &paddings, mode, pad_value: 0.0, data_format: "NCDHW" },
        )
    })
}

/// Crops the ends that have negative paddings, and sets these paddings to 0. The paddings are pairs, starting
/// with the last dimension.
fn cut<'c>(input: &Tensor<'c>, paddings: &mut [i64]) -> Result<Tensor<'c>> {
    let mut rest = input.clone();
    for (n, pair) in paddings.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let dim = input.rank() - 1 - n;
        let [start, end] = pair.map(|padding| padding.min(0).unsigned_abs() as usize);
        let len = input.dims()[dim].checked_sub(start + end).ok_or_else(|| {
            Error::invalid(format!("`pad` cuts off {} of {} elements", start + end, input.dims()[dim]))
        })?;
        rest = rest.sliced(dim, start, len, 1)?;
        *pair = pair.map(|padding| padding.max(0));
    }
    Ok(rest)
}

/// Sets the elements on one side of a diagonal to 0.
pub(crate) fn triangle<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    diagonal: i64,
    lower: bool,
) -> Result<()> {
    if input.rank() < 2 {
        return Err(Error::invalid(format!("there are no matrices in the shape {:?}", input.dims())));
    }
    kernel(
        call,
        out,
        input.data_type(),
        &[input],
        &Method::new("tril_triu", ANY),
        &mut |device, launch, out| device.tril_triu(launch, out, input.elements(), diagonal, lower),
    )
}
