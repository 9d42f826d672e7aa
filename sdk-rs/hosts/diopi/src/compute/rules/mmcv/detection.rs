//! Rules for boxes, regions and losses of object detection. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::{BoxOverlapsAttributes, MaxRoiAlignAttributes, RoiAlignAttributes};

use crate::compute::rules::layers::vision;
use crate::compute::rules::selection::indexing;
use crate::compute::rules::shared::{fill, kernel};
use crate::compute::rules::terms;
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Place, Tensor, wide};

/// Selects boxes that do not overlap a better box. Waits for the boxes.
pub(crate) fn nms<'c>(
    call: &'c Call,
    out: Place,
    boxes: &Tensor<'c>,
    scores: &Tensor<'c>,
    iou_threshold: f64,
    offset: i64,
) -> Result<()> {
    if offset == 0 {
        return vision::nms(call, out, boxes, scores, iou_threshold);
    }
    if boxes.rank() != 2 || boxes.dims()[1] != 4 {
        return Err(Error::invalid(format!("`dets` has the shape {:?}", boxes.dims())));
    }
    // Moving the ends of the boxes by one pixel gives the widths and heights that the offset requires.
    let moved = call.to_type(boxes, wide(boxes.data_type()))?;
    let boxes = call.tensor_like(&moved)?;
    call.copy(&boxes, &moved)?;
    let ends = boxes.sliced(1, 2, 2, 1)?;
    call.copy(&ends, &terms::scale(call, &ends, 1.0, offset as f64)?)?;
    vision::nms(call, out, &boxes, scores, iou_threshold)
}

/// Computes the overlap of boxes.
pub(crate) fn overlaps<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
    mode: i64,
    offset: i64,
    aligned: bool,
) -> Result<()> {
    if !(0..=1).contains(&mode) {
        return Err(Error::invalid(format!("`mode` is {mode}, neither 0 nor 1")));
    }
    // The result of aligned boxes may be a column.
    let out =
        if aligned && out.rank() == 2 && out.dims()[1] == 1 { out.selected(1, 0)? } else { out.clone() };
    let method = Method::new("box_overlaps", FLOAT);
    kernel(call, &out, x.data_type(), &[x, y], &method, &mut |device, launch, out| {
        device.box_overlaps(
            launch,
            out,
            x.elements(),
            y.elements(),
            &BoxOverlapsAttributes { over_first: mode == 1, offset: offset as f64, aligned },
        )
    })
}

/// Returns true for the largest sample of a cell, and false for the mean.
fn is_largest(pool_mode: i64) -> Result<bool> {
    match pool_mode {
        0 | 1 => Ok(pool_mode == 0),
        other => Err(Error::invalid(format!("`pool_mode` is {other}, neither 0 nor 1"))),
    }
}

/// Computes the mean or the largest of the samples in each cell of each region.
pub(crate) fn roi_align<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    rows: &Tensor<'c>,
    columns: &Tensor<'c>,
    x: &Tensor<'_>,
    boxes: &Tensor<'_>,
    height: i64,
    width: i64,
    sampling_ratio: i64,
    pool_mode: i64,
    scale: f32,
    aligned: bool,
) -> Result<()> {
    let scale = f64::from(scale);
    if is_largest(pool_mode)? {
        let output = |target: &Tensor<'c>| call.output(target, x.data_type(), &[x, boxes]);
        let (mut rows, mut columns) = (output(rows)?, output(columns)?);
        let method = Method::new("max_roi_align", FLOAT);
        kernel(call, out, x.data_type(), &[x, boxes], &method, &mut |device, launch, out| {
            let (rows, columns, x, boxes) =
                (rows.elements(), columns.elements(), x.elements(), boxes.elements());
            device.max_roi_align(
                launch,
                out,
                rows,
                columns,
                x,
                boxes,
                &MaxRoiAlignAttributes {
                    pooled_height: height,
                    pooled_width: width,
                    spatial_scale: scale,
                    sampling_ratio,
                    aligned,
                },
            )
        })?;
        rows.finish()?;
        return columns.finish();
    }
    for unused in [rows, columns] {
        fill(call, unused, Number::Integer(0))?;
    }
    let method = Method::new("roi_align", FLOAT);
    kernel(call, out, x.data_type(), &[x, boxes], &method, &mut |device, launch, out| {
        let (x, boxes) = (x.elements(), boxes.elements());
        device.roi_align(
            launch,
            out,
            x,
            boxes,
            None,
            &RoiAlignAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: scale,
                sampling_ratio,
                aligned,
            },
        )
    })
}

/// Computes the gradient of [`roi_align`].
pub(crate) fn roi_align_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    upstream: &Tensor<'c>,
    boxes: &Tensor<'_>,
    rows: &Tensor<'_>,
    columns: &Tensor<'_>,
    height: i64,
    width: i64,
    sampling_ratio: i64,
    pool_mode: i64,
    scale: f32,
    aligned: bool,
) -> Result<()> {
    let (ty, scale) = (gradient.data_type(), f64::from(scale));
    let upstream = call.to_type(upstream, ty)?;
    if is_largest(pool_mode)? {
        let inputs = [&upstream, boxes, rows, columns];
        let method = Method::new("max_roi_align_grad", FLOAT);
        return kernel(call, gradient, ty, &inputs, &method, &mut |device, launch, out| {
            let [upstream, boxes, rows, columns] = inputs.map(Tensor::elements);
            device.max_roi_align_grad(launch, out, boxes, rows, columns, upstream)
        });
    }
    let method = Method::new("roi_align_grad", FLOAT);
    kernel(call, gradient, ty, &[&upstream, boxes], &method, &mut |device, launch, out| {
        let (boxes, upstream) = (boxes.elements(), upstream.elements());
        device.roi_align_grad(
            launch,
            out,
            boxes,
            None,
            upstream,
            &RoiAlignAttributes {
                pooled_height: height,
                pooled_width: width,
                spatial_scale: scale,
                sampling_ratio,
                aligned,
            },
        )
    })
}

/// Computes the focal loss of logits with class labels.
pub(crate) fn sigmoid_focal_loss<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'c>,
    target: &Tensor<'c>,
    weight: &Tensor<'c>,
    gamma: f32,
    alpha: f32,
) -> Result<()> {
    let ty = wide(x.data_type());
    let (x, label) = (call.to_type(x, ty)?, labels(call, x, target, ty)?);
    let (alpha, gamma) = (alpha.into(), gamma.into());
    let each = call.formula(
        &Method::new("sigmoid_focal_loss", FLOAT),
        [(&x).into(), (&label).into()],
        &mut |device, launch, out, [x, label]| device.sigmoid_focal_loss(launch, out, x, label, alpha, gamma),
    )?;
    call.copy(out, &weighted(call, each, target, weight)?)
}

/// Computes the gradient of the sum of the losses of [`sigmoid_focal_loss`].
pub(crate) fn sigmoid_focal_loss_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    x: &Tensor<'c>,
    target: &Tensor<'c>,
    weight: &Tensor<'c>,
    gamma: f32,
    alpha: f32,
) -> Result<()> {
    let ty = wide(x.data_type());
    let (x, label) = (call.to_type(x, ty)?, labels(call, x, target, ty)?);
    let one = call.scalar(Number::Float(1.0), ty)?;
    let (alpha, gamma) = (alpha.into(), gamma.into());
    let each = call.formula(
        &Method::new("sigmoid_focal_loss_dx", FLOAT),
        [(&x).into(), (&label).into(), (&one).into()],
        &mut |device, launch, dx, [x, label, dout]| {
            device.sigmoid_focal_loss_dx(launch, dx, x, label, dout, alpha, gamma)
        },
    )?;
    call.copy(gradient, &weighted(call, each, target, weight)?)
}

/// Returns one-hot rows: 1 for the class of each row, and 0 for the others. The label after the last class is
/// the background.
fn labels<'c>(call: &'c Call, x: &Tensor<'_>, target: &Tensor<'c>, ty: DataType) -> Result<Tensor<'c>> {
    let &[_, classes] = x.dims() else {
        return Err(Error::invalid(format!("`input` has the shape {:?}", x.dims())));
    };
    let numbers: Vec<u8> = (0..classes as i64).flat_map(i64::to_ne_bytes).collect();
    let numbers = call.upload(DataType::INT64, &[classes], &numbers)?;
    let target = call.to_type(target, DataType::INT64)?;
    let target = target.unsqueezed(target.rank())?;
    let is_class = call.formula(
        &Method::new("equal", INTEGER | BOOL).yields_bool(),
        [(&target).into(), (&numbers).into()],
        &mut |device, launch, out, [a, b]| device.equal(launch, out, a, b),
    )?;
    call.to_type(&is_class, ty)
}

/// Multiplies each row by the weight of its class, if weights are given.
fn weighted<'c>(
    call: &'c Call,
    each: Tensor<'c>,
    target: &Tensor<'c>,
    weight: &Tensor<'c>,
) -> Result<Tensor<'c>> {
    if weight.len() == 0 {
        return Ok(each);
    }
    let of_rows = call.temporary(weight.data_type(), target.dims())?;
    indexing::gather(call, &of_rows, weight, 0, target)?;
    terms::multiply(call, &each, &call.to_type(&of_rows, each.data_type())?.unsqueezed(1)?)
}

/// Computes the focal loss of probabilities. An empty weight counts as absent.
pub(crate) fn softmax_focal_loss<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: &Tensor<'_>,
    gamma: f32,
    alpha: f32,
) -> Result<()> {
    let inputs = [x, target, weight];
    let method = Method::new("softmax_focal_loss", FLOAT);
    kernel(call, out, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let weight = (weight.len() > 0).then(|| weight.elements());
        let (x, target) = (x.elements(), target.elements());
        device.softmax_focal_loss(launch, out, x, target, weight, alpha.into(), gamma.into())
    })
}

/// Computes the gradient of [`softmax_focal_loss`] with respect to the logits.
pub(crate) fn softmax_focal_loss_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    slopes: &Tensor<'c>,
    x: &Tensor<'_>,
    target: &Tensor<'_>,
    weight: &Tensor<'_>,
    gamma: f32,
    alpha: f32,
) -> Result<()> {
    let inputs = [x, target, weight];
    let mut of_rows = call.output(slopes, slopes.data_type(), &inputs)?;
    let method = Method::new("softmax_focal_loss_grad", FLOAT);
    kernel(call, gradient, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let weight = (weight.len() > 0).then(|| weight.elements());
        let (x, target, slopes) = (x.elements(), target.elements(), of_rows.elements());
        device.softmax_focal_loss_grad(launch, out, slopes, x, target, weight, alpha.into(), gamma.into())
    })?;
    of_rows.finish()
}
