//! Rules for the reassembly of features. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::CarafeAttributes;

use crate::compute::rules::shared::{fill, kernel};
use crate::compute::{Call, FLOAT, Method, Number, Tensor};

/// Computes the reassembly of features, and keeps the features with the channels last for the gradient.
pub(crate) fn carafe<'c>(
    call: &'c Call,
    kept: &Tensor<'c>,
    unused_output: &Tensor<'c>,
    unused_masks: &Tensor<'c>,
    out: &Tensor<'c>,
    x: &Tensor<'c>,
    masks: &Tensor<'c>,
    kernel_size: i64,
    groups: i64,
    scale: i64,
) -> Result<()> {
    kernel(
        call,
        out,
        x.data_type(),
        &[x, masks],
        &Method::new("carafe", FLOAT),
        &mut |device, launch, out| {
            device.carafe(
                launch,
                out,
                x.elements(),
                masks.elements(),
                &CarafeAttributes { kernel_size, groups, scale },
            )
        },
    )?;
    call.copy(&channels_last(kept, x.dims())?, &x.permuted(&[0, 2, 3, 1])?)?;
    [unused_output, unused_masks].into_iter().try_for_each(|unused| fill(call, unused, Number::Integer(0)))
}

/// Returns a view of the kept features of images with the given shape.
fn channels_last<'c>(kept: &Tensor<'c>, images: &[usize]) -> Result<Tensor<'c>> {
    let &[batch, channels, height, width] = images else {
        return Err(Error::invalid(format!("images have the shape {images:?}")));
    };
    kept.reshaped(&[batch, height, width, channels])
}

/// Computes the gradients of [`carafe`] from the kept features.
pub(crate) fn carafe_backward<'c>(
    call: &'c Call,
    unused_output: &Tensor<'c>,
    unused_sums: &Tensor<'c>,
    unused_images: &Tensor<'c>,
    unused_masks: &Tensor<'c>,
    of_x: &Tensor<'c>,
    of_masks: &Tensor<'c>,
    upstream: &Tensor<'c>,
    kept: &Tensor<'c>,
    masks: &Tensor<'c>,
    kernel_size: i64,
    groups: i64,
    scale: i64,
) -> Result<()> {
    let x = channels_last(&call.packed(kept)?, of_x.dims())?.permuted(&[0, 3, 1, 2])?;
    let inputs = [&x, masks, upstream];
    let mut slopes = call.output(of_masks, masks.data_type(), &inputs)?;
    let method = Method::new("carafe_grad", FLOAT);
    kernel(call, of_x, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [x, masks, upstream] = inputs.map(Tensor::elements);
        device.carafe_grad(
            launch,
            out,
            slopes.elements(),
            x,
            masks,
            upstream,
            &CarafeAttributes { kernel_size, groups, scale },
        )
    })?;
    slopes.finish()?;
    let unused = [unused_output, unused_sums, unused_images, unused_masks];
    unused.into_iter().try_for_each(|unused| fill(call, unused, Number::Integer(0)))
}
