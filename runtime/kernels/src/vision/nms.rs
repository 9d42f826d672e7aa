//! Non-maximum suppression.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, store_integers};
use crate::sorting::compare;
use crate::tensor::{View, ViewMut};

/// Computes the number of boxes that [`nms`] selects, as a shape.
///
/// # Errors
/// As [`nms`].
pub fn nms_shape(boxes: &View<'_>, scores: Option<&View<'_>>, iou_threshold: f64) -> Result<Vec<usize>> {
    Ok(vec![selected(boxes, scores, iou_threshold)?.len()])
}

/// Selects the boxes that do not overlap a previously selected box, and writes their indices.
///
/// Boxes are processed by descending score, those with equal scores in their order, or all in their order if
/// there are no scores. Two boxes overlap if the area of their intersection divided by that of their union is
/// above the threshold. They do not if the quotient is NaN.
///
/// # Errors
/// [`Error::Shape`] unless there are four numbers for each box, and a score, and one output for each selected
/// box, and
/// [`Error::Type`] unless the boxes and scores are floating-point.
pub fn nms(
    out: &mut ViewMut<'_>,
    boxes: &View<'_>,
    scores: Option<&View<'_>>,
    iou_threshold: f64,
) -> Result<()> {
    let selected = selected(boxes, scores, iou_threshold)?;
    expect_shape(&[selected.len()], out.dims())?;
    store_integers(out, &selected)
}

fn selected(boxes: &View<'_>, scores: Option<&View<'_>>, threshold: f64) -> Result<Vec<i64>> {
    let &[count, 4] = boxes.dims() else {
        let count = boxes.dims().first().copied().unwrap_or(0);
        return Err(Error::Shape { expected: vec![count, 4], actual: boxes.dims().to_vec() });
    };
    let order = by_score(count, scores)?;
    with_float!(boxes.dtype(), T => {
        let boxes = <T as Slot>::load(boxes)?;
        Ok(suppress_boxes(boxes.as_chunks().0, order, threshold))
    })
}

fn suppress_boxes<T: Float>(boxes: &[[T; 4]], order: Vec<usize>, threshold: f64) -> Vec<i64> {
    suppress(order, threshold, |a, b| overlap(&boxes[a], &boxes[b]).into())
}

/// Returns the indices of boxes by descending score, or in their order without scores.
pub(crate) fn by_score(count: usize, scores: Option<&View<'_>>) -> Result<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    if let Some(scores) = scores {
        expect_shape(&[count], scores.dims())?;
        with_float!(scores.dtype(), T => {
            let scores = <T as Slot>::load(scores)?;
            order.sort_by(|&a, &b| compare(scores[b], scores[a]));
            Ok(())
        })?;
    }
    Ok(order)
}

/// Selects boxes in an order, and leaves out those whose quotient with a selected one is above the threshold.
pub(crate) fn suppress(
    order: Vec<usize>,
    threshold: f64,
    quotient: impl Fn(usize, usize) -> f64,
) -> Vec<i64> {
    let mut rest = order;
    let mut selected = vec![];
    while let Some(&best) = rest.first() {
        selected.push(best as i64);
        rest.retain(|&other| {
            let overlaps = || quotient(best, other) > threshold;
            other != best && !overlaps()
        });
    }
    selected
}

fn area<T: Float>([x1, y1, x2, y2]: &[T; 4]) -> T {
    (*x2 - *x1) * (*y2 - *y1)
}

/// Computes the area of the intersection divided by the area of the union.
fn overlap<T: Float>(a: &[T; 4], b: &[T; 4]) -> T {
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(T::ZERO);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(T::ZERO);
    let both = width * height;
    both / (area(a) + area(b) - both)
}
