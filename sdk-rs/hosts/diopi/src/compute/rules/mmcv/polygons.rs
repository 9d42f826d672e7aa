//! Rules for rotated boxes and polygons. The semantics are those of MMCV's operators.

use tenon::device::{DataType, Error, Result};

use crate::compute::rules::shared::{expect_shape, fill, kernel};
use crate::compute::rules::terms;
use crate::compute::{Call, FLOAT, Method, Number, Place, Tensor, wide};

/// Computes the overlap of polygons with the given number of columns. The result may be flat.
pub(crate) fn overlaps<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
    mode: i64,
    aligned: bool,
    columns: i64,
) -> Result<()> {
    let measure = match mode {
        0 => "union",
        1 => "first",
        other => return Err(Error::invalid(format!("`mode` is {other}, neither 0 nor 1"))),
    };
    for (name, polygons) in [("bboxes1", x), ("bboxes2", y)] {
        expect_columns(name, polygons, columns)?;
    }
    let second = y.dims()[0];
    let out = if out.rank() == 1 && !aligned && second > 0 { out.divided(0, second)? } else { out.clone() };
    measured(call, &out, x, y, measure, aligned)
}

/// Computes the areas of the intersections of boxes in space, seen from above.
pub(crate) fn overlaps_from_above<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
) -> Result<()> {
    for (name, boxes) in [("boxes_a", x), ("boxes_b", y)] {
        expect_columns(name, boxes, IN_SPACE)?;
    }
    measured(call, out, x, y, "area", false)
}

/// Computes the overlaps of the hulls of points with quadrangles.
pub(crate) fn overlaps_of_hulls<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    points: &Tensor<'_>,
    polygons: &Tensor<'_>,
) -> Result<()> {
    expect_columns("pointsets", points, POINTS)?;
    expect_columns("polygons", polygons, QUADRANGLE)?;
    measured(call, out, points, polygons, "union", false)
}

fn measured<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
    measure: &str,
    aligned: bool,
) -> Result<()> {
    let method = Method::new("polygon_overlaps", FLOAT);
    kernel(call, out, x.data_type(), &[x, y], &method, &mut |device, launch, out| {
        device.polygon_overlaps(launch, out, x.elements(), y.elements(), measure, aligned)
    })
}

/// The number of columns of a rotated box, a box in space, a quadrangle and a set of nine points.
const ROTATED: i64 = 5;
const IN_SPACE: i64 = 7;
const QUADRANGLE: i64 = 8;
const POINTS: i64 = 18;

fn expect_columns(name: &str, rows: &Tensor<'_>, columns: i64) -> Result<()> {
    let count = rows.dims().first().copied().unwrap_or(0);
    expect_shape(name, rows, &[count, columns as usize])
}

/// Selects rotated boxes that do not overlap a better one. Waits for the boxes.
pub(crate) fn nms_rotated<'c>(
    call: &'c Call,
    out: Place,
    boxes: &Tensor<'c>,
    scores: &Tensor<'c>,
    iou_threshold: f32,
) -> Result<()> {
    // The label, if there is one, is the last column.
    let boxes = match boxes.dims() {
        [_, 6] => boxes.sliced(1, 0, 5, 1)?,
        _ => boxes.clone(),
    };
    expect_columns("dets", &boxes, ROTATED)?;
    let selected = selected(call, &boxes, Some(scores), iou_threshold, "polygon_nms")?;
    let out = call.make(out, DataType::INT64, selected.dims())?;
    call.copy(&out, &selected)
}

/// Selects boxes in space, seen from above, that do not overlap a previous one. Waits for the boxes.
pub(crate) fn nms_from_above<'c>(
    call: &'c Call,
    keep: &Tensor<'c>,
    keep_num: &Tensor<'c>,
    boxes: &Tensor<'c>,
    threshold: f32,
) -> Result<()> {
    expect_columns("boxes", boxes, IN_SPACE)?;
    store(call, keep, keep_num, &selected(call, boxes, None, threshold, "polygon_nms")?)
}

/// Selects boxes as [`nms_from_above`] does, without their rotation.
pub(crate) fn nms_without_rotation<'c>(
    call: &'c Call,
    keep: &Tensor<'c>,
    keep_num: &Tensor<'c>,
    boxes: &Tensor<'c>,
    threshold: f32,
) -> Result<()> {
    expect_columns("boxes", boxes, IN_SPACE)?;
    let boxes = call.to_type(boxes, wide(boxes.data_type()))?;
    let (centers, sizes) = (boxes.sliced(1, 0, 2, 1)?, boxes.sliced(1, 3, 2, 1)?);
    let corners = call.temporary(boxes.data_type(), &[boxes.dims()[0], 4])?;
    for (start, part) in [(0, -0.5), (2, 0.5)] {
        call.copy(&corners.sliced(1, start, 2, 1)?, &terms::add_scaled(call, &centers, &sizes, part)?)?;
    }
    store(call, keep, keep_num, &selected(call, &corners, None, threshold, "nms")?)
}

/// Returns the indices that a kind of non-maximum suppression selects.
fn selected<'c>(
    call: &'c Call,
    x: &Tensor<'c>,
    scores: Option<&Tensor<'c>>,
    threshold: f32,
    name: &'static str,
) -> Result<Tensor<'c>> {
    let (method, of_polygons) = (Method::new(name, FLOAT), name == "polygon_nms");
    let (x, scores, threshold) = (x.elements(), scores.map(Tensor::elements), f64::from(threshold));
    let mut dims = Vec::new();
    call.run(&method, x.data_type(), &mut |device, launch| {
        dims = if of_polygons {
            device.polygon_nms_out_shape(launch, x, scores, threshold)?
        } else {
            device.nms_out_shape(launch, x, scores, threshold)?
        };
        Ok(())
    })?;
    let selected = call.temporary(DataType::INT64, &dims)?;
    let mut out = selected.as_output()?;
    call.run(&method, x.data_type(), &mut |device, launch| {
        if of_polygons {
            device.polygon_nms(launch, &mut out, x, scores, threshold)
        } else {
            device.nms(launch, &mut out, x, scores, threshold)
        }
    })?;
    Ok(selected)
}

/// Writes indices to the first elements of a list, and their number.
fn store<'c>(call: &'c Call, keep: &Tensor<'c>, keep_num: &Tensor<'c>, selected: &Tensor<'c>) -> Result<()> {
    let count = selected.len();
    if keep.rank() != 1 || keep.len() < count {
        return Err(Error::invalid(format!("`keep` has the shape {:?} for {count} indices", keep.dims())));
    }
    fill(call, keep, Number::Integer(0))?;
    call.copy(&keep.sliced(0, 0, count, 1)?, selected)?;
    fill(call, keep_num, Number::Integer(count as i64))
}

/// Computes the generalized overlaps of the hulls of points with quadrangles, behind their gradients.
pub(crate) fn generalized_overlaps<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    points: &Tensor<'c>,
    polygons: &Tensor<'c>,
) -> Result<()> {
    expect_columns("pointsets", points, POINTS)?;
    expect_columns("polygons", polygons, QUADRANGLE)?;
    expect_columns("output", out, POINTS + 1)?;
    let (ty, inputs) = (points.data_type(), [points, polygons]);
    let slopes = out.sliced(1, 0, POINTS as usize, 1)?;
    let overlaps = out.selected(1, POINTS as usize)?;
    let mut slopes = call.output(&slopes, ty, &inputs)?;
    let method = Method::new("generalized_overlaps", FLOAT);
    kernel(call, &overlaps, ty, &inputs, &method, &mut |device, launch, out| {
        device.generalized_overlaps(launch, out, slopes.elements(), points.elements(), polygons.elements())
    })?;
    slopes.finish()
}

/// Sorts the vertices of the intersections of two boxes.
pub(crate) fn sort_vertices<'c>(
    call: &'c Call,
    out: Place,
    vertices: &Tensor<'c>,
    mask: &Tensor<'c>,
) -> Result<()> {
    let &[batch, pairs, _, _] = vertices.dims() else {
        return Err(Error::invalid(format!("`vertices` has the shape {:?}", vertices.dims())));
    };
    let out = call.make(out, DataType::INT32, &[batch, pairs, 9])?;
    let method = Method::new("sort_vertices", FLOAT);
    let mut indices = call.output(&out, DataType::INT64, &[vertices, mask])?;
    call.run(&method, vertices.data_type(), &mut |device, launch| {
        device.sort_vertices(launch, indices.elements(), vertices.elements(), mask.elements())
    })?;
    indices.finish()
}
