//! Rules for deformable convolutions and deformable attention. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::DeformableColumnsAttributes;

use crate::compute::rules::matrices::matrix::product_of;
use crate::compute::rules::shared::{expect_shape, fill, kernel, sum};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Number, Place, Tensor, wide};

/// The parameters of a deformable convolution; each pair holds a vertical and a horizontal number.
#[derive(Clone, Copy, Debug)]
struct Windows {
    kernel: [i64; 2],
    strides: [i64; 2],
    paddings: [i64; 2],
    dilations: [i64; 2],
    groups: usize,
}

impl Windows {
    fn new(numbers: [[i64; 2]; 4], groups: i64, weight: &Tensor<'_>) -> Result<Self> {
        let [kernel, strides, paddings, dilations] = numbers;
        let groups = usize::try_from(groups).ok().filter(|&groups| groups > 0);
        let groups = groups.ok_or_else(|| Error::invalid("the number of groups is not positive"))?;
        let is_kernel = weight.rank() == 4
            && weight.dims()[2..].iter().map(|&dim| dim as i64).eq(kernel)
            && weight.dims()[0].is_multiple_of(groups);
        if is_kernel {
            Ok(Self { kernel, strides, paddings, dilations, groups })
        } else {
            let dims = weight.dims();
            Err(Error::invalid(format!("`weight` has the shape {dims:?} for {groups} groups of {kernel:?}")))
        }
    }

    /// Collects the samples of all windows.
    fn columns<'c>(
        &self,
        call: &'c Call,
        x: &Tensor<'c>,
        offset: &Tensor<'c>,
        mask: Option<&Tensor<'c>>,
    ) -> Result<Tensor<'c>> {
        let (&[batch, channels, ..], &[_, _, rows, columns]) = (x.dims(), offset.dims()) else {
            return Err(Error::invalid(format!("`offset` has the shape {:?}", offset.dims())));
        };
        let elements = (self.kernel[0] * self.kernel[1]).max(0) as usize;
        let out = call.temporary(x.data_type(), &[batch, channels * elements, rows * columns])?;
        let method = Method::new("deformable_columns", FLOAT);
        kernel(call, &out, x.data_type(), &[x, offset], &method, &mut |device, launch, out| {
            let (x, offset, mask) = (x.elements(), offset.elements(), mask.map(Tensor::elements));
            let Self { kernel, strides, paddings, dilations, .. } = self;
            device.deformable_columns(
                launch,
                out,
                x,
                offset,
                mask,
                &DeformableColumnsAttributes { kernel, strides, paddings, dilations },
            )
        })?;
        Ok(out)
    }

    /// Returns the weight of a group as a matrix.
    fn matrix<'c>(&self, call: &'c Call, weight: &Tensor<'c>, group: usize) -> Result<Tensor<'c>> {
        let rows = weight.dims()[0];
        let columns = weight.dims()[1..].iter().product();
        let matrix = call.packed(weight)?.reshaped(&[rows, columns])?;
        let of_group = rows / self.groups;
        matrix.sliced(0, group * of_group, of_group, 1)
    }

    /// Returns the part of a dimension that belongs to a group.
    fn part<'c>(&self, x: &Tensor<'c>, dim: usize, group: usize) -> Result<Tensor<'c>> {
        let len = x.dims()[dim] / self.groups;
        x.sliced(dim, group * len, len, 1)
    }
}

fn convolve<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    windows: Windows,
    x: &Tensor<'c>,
    weight: &Tensor<'c>,
    bias: Option<&Tensor<'c>>,
    offset: &Tensor<'c>,
    mask: Option<&Tensor<'c>>,
) -> Result<()> {
    let ty = wide(x.data_type());
    let [x, weight, offset] = [x, weight, offset].map(|tensor| call.to_type(tensor, ty));
    let (x, weight, offset) = (x?, weight?, offset?);
    let mask = mask.map(|mask| call.to_type(mask, ty)).transpose()?;
    let columns = windows.columns(call, &x, &offset, mask.as_ref())?;
    let &[batch, _, rows, width] = offset.dims() else {
        return Err(Error::invalid(format!("`offset` has the shape {:?}", offset.dims())));
    };
    let result = call.temporary(ty, &[batch, weight.dims()[0], rows * width])?;
    for group in 0..windows.groups {
        let matrix = windows.matrix(call, &weight, group)?;
        let product = product_of(call, &matrix, &windows.part(&columns, 1, group)?)?;
        call.copy(&windows.part(&result, 1, group)?, &product)?;
    }
    let result = match bias {
        Some(bias) => terms::add(call, &result, &call.to_type(bias, ty)?.unsqueezed(1)?)?,
        None => result,
    };
    let dims = [batch, weight.dims()[0], rows, width];
    expect_shape("output", out, &dims)?;
    call.copy(out, &result.reshaped(&dims)?)
}

/// The gradients that a caller requests.
#[derive(Default)]
struct Gradients<'t, 'c> {
    x: Option<&'t Tensor<'c>>,
    offset: Option<&'t Tensor<'c>>,
    mask: Option<&'t Tensor<'c>>,
    weight: Option<&'t Tensor<'c>>,
    bias: Option<&'t Tensor<'c>>,
    /// The factor of the gradient of the weight.
    scale: f64,
}

fn convolve_backward<'c>(
    call: &'c Call,
    gradients: &Gradients<'_, 'c>,
    windows: Windows,
    x: &Tensor<'c>,
    weight: &Tensor<'c>,
    offset: &Tensor<'c>,
    mask: Option<&Tensor<'c>>,
    upstream: &Tensor<'c>,
) -> Result<()> {
    let ty = wide(x.data_type());
    let [x, weight, offset, upstream] = [x, weight, offset, upstream].map(|tensor| call.to_type(tensor, ty));
    let (x, weight, offset, upstream) = (x?, weight?, offset?, call.packed(&upstream?)?);
    let mask = mask.map(|mask| call.to_type(mask, ty)).transpose()?;
    let &[batch, channels, rows, width] = upstream.dims() else {
        return Err(Error::invalid(format!("the gradient has the shape {:?}", upstream.dims())));
    };
    if [batch, channels] != [x.dims()[0], weight.dims()[0]] {
        return Err(Error::invalid(format!("the gradient has the shape {:?}", upstream.dims())));
    }
    let upstream = upstream.reshaped(&[batch, channels, rows * width])?;
    if let Some(target) = gradients.weight {
        let columns = windows.columns(call, &x, &offset, mask.as_ref())?;
        let made = call.temporary(ty, &[channels, weight.dims()[1..].iter().product()])?;
        for group in 0..windows.groups {
            let columns = windows.part(&columns, 1, group)?.transposed(1, 2)?;
            let products = product_of(call, &windows.part(&upstream, 1, group)?, &columns)?;
            sum(call, &windows.part(&made, 0, group)?, &products, &[0])?;
        }
        let scaled = terms::scale(call, &made, gradients.scale, 0.0)?;
        expect_shape("the gradient of the weight", target, weight.dims())?;
        call.copy(target, &scaled.reshaped(weight.dims())?)?;
    }
    if let Some(target) = gradients.bias {
        sum(call, target, &upstream, &[0, 2])?;
    }
    let Some(target) = gradients.x else { return Ok(()) };
    let columns = weight.dims()[1..].iter().product::<usize>() * windows.groups;
    let of_columns = call.temporary(ty, &[batch, columns, rows * width])?;
    for group in 0..windows.groups {
        let matrix = windows.matrix(call, &weight, group)?.transposed(0, 1)?;
        let product = product_of(call, &matrix, &windows.part(&upstream, 1, group)?)?;
        call.copy(&windows.part(&of_columns, 1, group)?, &product)?;
    }
    let inputs = [&x, &offset, &of_columns];
    let mut of_offset = gradients.offset.map(|it| call.output(it, ty, &inputs)).transpose()?;
    let unused = call.tensor_like(&offset)?;
    let mut unused = call.output(&unused, ty, &[])?;
    let mut of_mask = gradients.mask.map(|it| call.output(it, ty, &inputs)).transpose()?;
    let method = Method::new("deformable_columns_grad", FLOAT);
    kernel(call, target, ty, &inputs, &method, &mut |device, launch, out| {
        let [x, offset, upstream] = inputs.map(Tensor::elements);
        let Windows { kernel, strides, paddings, dilations, .. } = &windows;
        device.deformable_columns_grad(
            launch,
            out,
            of_offset.as_mut().unwrap_or(&mut unused).elements(),
            of_mask.as_mut().map(|it| it.elements()),
            x,
            offset,
            mask.as_ref().map(Tensor::elements),
            upstream,
            &DeformableColumnsAttributes { kernel, strides, paddings, dilations },
        )
    })?;
    [of_offset, of_mask].into_iter().flatten().try_for_each(|output| output.finish())
}

/// Sets tensors to 0 that other implementations use for intermediate results.
fn unused(call: &Call, tensors: [&Tensor<'_>; 2]) -> Result<()> {
    tensors.into_iter().try_for_each(|tensor| fill(call, tensor, Number::Integer(0)))
}

/// Computes a deformable convolution.
pub(crate) fn convolution<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    columns: &Tensor<'c>,
    ones: &Tensor<'c>,
    x: &Tensor<'c>,
    weight: &Tensor<'c>,
    offset: &Tensor<'c>,
    kernel: &[i64; 2],
    strides: &[i64; 2],
    paddings: &[i64; 2],
    dilations: &[i64; 2],
    groups: i64,
) -> Result<()> {
    unused(call, [columns, ones])?;
    let windows = Windows::new([*kernel, *strides, *paddings, *dilations], groups, weight)?;
    convolve(call, out, windows, x, weight, None, offset, None)
}

/// Computes the gradients of [`convolution`] with respect to the images and the offsets.
pub(crate) fn convolution_backward_input<'c>(
    call: &'c Call,
    of_x: &Tensor<'c>,
    of_offset: &Tensor<'c>,
    x: &Tensor<'c>,
    offset: &Tensor<'c>,
    upstream: &Tensor<'c>,
    weight: &Tensor<'c>,
    kernel: &[i64; 2],
    strides: &[i64; 2],
    paddings: &[i64; 2],
    dilations: &[i64; 2],
    groups: i64,
) -> Result<()> {
    let windows = Windows::new([*kernel, *strides, *paddings, *dilations], groups, weight)?;
    let gradients = Gradients { x: Some(of_x), offset: Some(of_offset), ..Gradients::default() };
    convolve_backward(call, &gradients, windows, x, weight, offset, None, upstream)
}

/// Computes the gradient of [`convolution`] with respect to the weight, times a factor.
pub(crate) fn convolution_backward_weight<'c>(
    call: &'c Call,
    of_weight: &Tensor<'c>,
    upstream: &Tensor<'c>,
    x: &Tensor<'c>,
    offset: &Tensor<'c>,
    kernel: &[i64; 2],
    strides: &[i64; 2],
    paddings: &[i64; 2],
    dilations: &[i64; 2],
    groups: i64,
    scale: f32,
) -> Result<()> {
    let windows = Windows::new([*kernel, *strides, *paddings, *dilations], groups, of_weight)?;
    let gradients = Gradients { weight: Some(of_weight), scale: scale.into(), ..Gradients::default() };
    // Only the shape of the weight affects its gradient.
    convolve_backward(call, &gradients, windows, x, of_weight, offset, None, upstream)
}

/// Computes a deformable convolution whose samples are multiplied by a mask.
pub(crate) fn masked_convolution<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    columns: &Tensor<'c>,
    ones: &Tensor<'c>,
    x: &Tensor<'c>,
    weight: &Tensor<'c>,
    bias: &Tensor<'c>,
    offset: &Tensor<'c>,
    mask: &Tensor<'c>,
    kernel: &[i64; 2],
    strides: &[i64; 2],
    paddings: &[i64; 2],
    dilations: &[i64; 2],
    groups: i64,
    with_bias: bool,
) -> Result<()> {
    unused(call, [columns, ones])?;
    let windows = Windows::new([*kernel, *strides, *paddings, *dilations], groups, weight)?;
    convolve(call, out, windows, x, weight, with_bias.then_some(bias), offset, Some(mask))
}

/// Computes the gradients of [`masked_convolution`].
pub(crate) fn masked_convolution_backward<'c>(
    call: &'c Call,
    of_x: &Tensor<'c>,
    of_weight: &Tensor<'c>,
    of_bias: &Tensor<'c>,
    of_offset: &Tensor<'c>,
    of_mask: &Tensor<'c>,
    x: &Tensor<'c>,
    weight: &Tensor<'c>,
    offset: &Tensor<'c>,
    mask: &Tensor<'c>,
    upstream: &Tensor<'c>,
    kernel: &[i64; 2],
    strides: &[i64; 2],
    paddings: &[i64; 2],
    dilations: &[i64; 2],
    groups: i64,
    with_bias: bool,
) -> Result<()> {
    let windows = Windows::new([*kernel, *strides, *paddings, *dilations], groups, weight)?;
    let gradients = Gradients {
        x: Some(of_x),
        offset: Some(of_offset),
        mask: Some(of_mask),
        weight: Some(of_weight),
        bias: with_bias.then_some(of_bias),
        scale: 1.0,
    };
    convolve_backward(call, &gradients, windows, x, weight, offset, Some(mask), upstream)
}

/// Sums weighted samples of several images for each query.
pub(crate) fn attention<'c>(
    call: &'c Call,
    out: Place,
    value: &Tensor<'c>,
    shapes: &Tensor<'_>,
    starts: &Tensor<'_>,
    places: &Tensor<'c>,
    weights: &Tensor<'c>,
) -> Result<()> {
    let (&[batch, _, heads, channels], &[_, queries, ..]) = (value.dims(), places.dims()) else {
        return Err(Error::invalid(format!("`value` has the shape {:?}", value.dims())));
    };
    let ty = value.data_type();
    let out = call.make(out, ty, &[batch, queries, heads * channels])?;
    let inputs = [value, shapes, starts, places, weights];
    let method = Method::new("deformable_attention", FLOAT);
    kernel(call, &out, ty, &inputs, &method, &mut |device, launch, out| {
        let [value, shapes, starts, places, weights] = inputs.map(Tensor::elements);
        device.deformable_attention(launch, out, value, shapes, starts, places, weights)
    })
}
