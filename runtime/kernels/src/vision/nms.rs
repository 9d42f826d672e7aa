//! Non-maximum suppression.

use crate::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::float::Float;
use crate::slices::{Slot, store_integers};
use crate::sorting::compare;
use crate::tensor::{View, ViewMut};

/// Computes the number of boxes that [`nms`] selects, as a shape.
///
/// # Errors
/// As [`nms`].
pub fn nms_shape(boxes: &View<'_>, scores: Option<&View<'_>>, iou_threshold: f64) -> Result<Vec<usize>> {
    Ok(vec![selected(boxes, scores, iou_threshold)?.len()])
}

/// Selects boxes: the indices of those that overlap no box that was selected before.
///
/// Boxes are tried by descending score, equal ones in their order, or all in their order if there are no scores. Two boxes
/// overlap if the quotient of the areas of intersection and union is above the threshold; if it is NaN, they do not.
///
/// # Errors
/// [`Error::Shape`] unless there are four numbers for each box, and a score, and as many outputs as boxes are selected, and
/// [`Error::Type`] unless boxes and scores are floats.
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
    let mut order: Vec<usize> = (0..count).collect();
    if let Some(scores) = scores {
        expect_shape(&[count], scores.dims())?;
        with_float!(scores.dtype(), T => {
            let scores = <T as Slot>::load(scores)?;
            order.sort_by(|&a, &b| compare(scores[b], scores[a]));
            Ok(())
        })?;
    }
    with_float!(boxes.dtype(), T => {
        let boxes = <T as Slot>::load(boxes)?;
        Ok(suppress(boxes.as_chunks().0, order, threshold))
    })
}

fn suppress<T: Float>(boxes: &[[T; 4]], order: Vec<usize>, threshold: f64) -> Vec<i64> {
    let mut rest = order;
    let mut selected = vec![];
    while let Some(&best) = rest.first() {
        selected.push(best as i64);
        rest.retain(|&other| {
            let quotient: f64 = overlap(&boxes[best], &boxes[other]).into();
            other != best && (quotient <= threshold || quotient.is_nan())
        });
    }
    selected
}

fn area<T: Float>([x1, y1, x2, y2]: &[T; 4]) -> T {
    (*x2 - *x1) * (*y2 - *y1)
}

/// Computes the quotient of the areas of intersection and union.
fn overlap<T: Float>(a: &[T; 4], b: &[T; 4]) -> T {
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(T::ZERO);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(T::ZERO);
    let both = width * height;
    both / (area(a) + area(b) - both)
}
