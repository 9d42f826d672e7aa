//! Rules for boxes in images. The semantics are those of torchvision's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::RoiAlignAttributes;

use crate::compute::rules::shared::kernel;
use crate::compute::{Call, DataType, FLOAT, Method, Place, Tensor};

/// Computes the gradient of RoI Align with respect to images of the given shape.
pub(crate) fn roi_align_backward<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    grad: &Tensor<'c>,
    rois: &Tensor<'c>,
    spatial_scale: f64,
    pooled_height: i64,
    pooled_width: i64,
    batch_size: i64,
    channels: i64,
    height: i64,
    width: i64,
    sampling_ratio: i64,
    aligned: bool,
) -> Result<()> {
    let shape = [batch_size, channels, height, width];
    if !out.dims().iter().map(|&dim| dim as i64).eq(shape) {
        return Err(Error::invalid(format!("`out` has the shape {:?} instead of {shape:?}", out.dims())));
    }
    let ty = out.data_type();
    let grad = call.to_type(grad, ty)?;
    let method = Method::new("roi_align_grad", FLOAT);
    kernel(call, out, ty, &[&grad, rois], &method, &mut |device, launch, out| {
        device.roi_align_grad(
            launch,
            out,
            rois.elements(),
            None,
            grad.elements(),
            &RoiAlignAttributes { pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned },
        )
    })
}

/// Selects boxes that do not overlap a selected one with a higher confidence. Waits for the boxes.
pub(crate) fn nms<'c>(
    call: &'c Call,
    out: Place,
    boxes: &Tensor<'c>,
    confidence: &Tensor<'c>,
    iou_threshold: f64,
) -> Result<()> {
    let method = Method::new("nms", FLOAT);
    let ty = boxes.data_type();
    let scores = Some(confidence.elements());
    let mut dims = Vec::new();
    call.run(&method, ty, &mut |device, launch| {
        dims = device.nms_out_shape(launch, boxes.elements(), scores, iou_threshold)?;
        Ok(())
    })?;
    let out = call.make(out, DataType::INT64, &dims)?;
    kernel(call, &out, DataType::INT64, &[boxes, confidence], &method, &mut |device, launch, out| {
        device.nms(launch, out, boxes.elements(), scores, iou_threshold)
    })
}
