//! Rules for regions of images. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::Result;
use tenon_operators::attributes::{DeformableRoiPoolAttributes, PreciseRoiPoolAttributes};

use crate::compute::rules::optional::Optional;
use crate::compute::rules::shared::{fill, kernel};
use crate::compute::{Call, FLOAT, Method, Number, Tensor};

/// Computes deformable RoI pooling. Offsets without elements count as absent.
pub(crate) fn deformable_pool<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    boxes: &Tensor<'_>,
    offset: &Tensor<'_>,
    height: i64,
    width: i64,
    sampling_ratio: i64,
    scale: f32,
    gamma: f32,
) -> Result<()> {
    let method = Method::new("deformable_roi_pool", FLOAT);
    let (scale, gamma) = (f64::from(scale), f64::from(gamma));
    kernel(call, out, x.data_type(), &[x, boxes, offset], &method, &mut |device, launch, out| {
        let offset = (offset.len() > 0).then(|| offset.elements());
        let (x, boxes) = (x.elements(), boxes.elements());
        device.deformable_roi_pool(
            launch,
            out,
            x,
            boxes,
            offset,
            &DeformableRoiPoolAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: scale,
                sampling_ratio,
                gamma,
            },
        )
    })
}

/// Computes the gradients of [`deformable_pool`].
pub(crate) fn deformable_pool_backward<'c>(
    call: &'c Call,
    of_x: &Tensor<'c>,
    of_offset: &Tensor<'c>,
    upstream: &Tensor<'c>,
    x: &Tensor<'_>,
    boxes: &Tensor<'_>,
    offset: &Tensor<'_>,
    height: i64,
    width: i64,
    sampling_ratio: i64,
    scale: f32,
    gamma: f32,
) -> Result<()> {
    let inputs = [upstream, x, boxes, offset];
    let (scale, gamma) = (f64::from(scale), f64::from(gamma));
    let mut of_offset = Optional::new(call, (offset.len() > 0).then_some(of_offset), &inputs)?;
    let method = Method::new("deformable_roi_pool_grad", FLOAT);
    kernel(call, of_x, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [upstream, x, boxes, _] = inputs.map(Tensor::elements);
        let offset = (offset.len() > 0).then(|| offset.elements());
        let of_offset = of_offset.elements();
        device.deformable_roi_pool_grad(
            launch,
            out,
            of_offset,
            x,
            boxes,
            offset,
            upstream,
            &DeformableRoiPoolAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: scale,
                sampling_ratio,
                gamma,
            },
        )
    })?;
    of_offset.finish()
}

/// Computes the gradient of precise RoI pooling with respect to the images.
pub(crate) fn precise_pool_backward<'c>(
    call: &'c Call,
    of_x: &Tensor<'c>,
    upstream: &Tensor<'_>,
    boxes: &Tensor<'_>,
    height: i64,
    width: i64,
    scale: f32,
) -> Result<()> {
    // The gradient does not depend on the pixels.
    let x = call.tensor_like(of_x)?;
    let method = Method::new("precise_roi_pool_grad", FLOAT);
    fill(call, &x, Number::Integer(0))?;
    kernel(call, of_x, upstream.data_type(), &[upstream, boxes], &method, &mut |device, launch, out| {
        let (x, boxes, upstream) = (x.elements(), boxes.elements(), upstream.elements());
        device.precise_roi_pool_grad(
            launch,
            Some(out),
            None,
            x,
            boxes,
            upstream,
            &PreciseRoiPoolAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: f64::from(scale),
            },
        )
    })
}

/// Computes the gradient of precise RoI pooling with respect to the regions.
pub(crate) fn precise_pool_boxes_backward<'c>(
    call: &'c Call,
    of_boxes: &Tensor<'c>,
    upstream: &Tensor<'_>,
    x: &Tensor<'_>,
    boxes: &Tensor<'_>,
    height: i64,
    width: i64,
    scale: f32,
) -> Result<()> {
    let method = Method::new("precise_roi_pool_grad", FLOAT);
    kernel(call, of_boxes, x.data_type(), &[upstream, x, boxes], &method, &mut |device, launch, out| {
        let (x, boxes, upstream) = (x.elements(), boxes.elements(), upstream.elements());
        device.precise_roi_pool_grad(
            launch,
            None,
            Some(out),
            x,
            boxes,
            upstream,
            &PreciseRoiPoolAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: f64::from(scale),
            },
        )
    })
}
