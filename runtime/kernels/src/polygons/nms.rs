//! Non-maximum suppression of polygons.

use super::overlaps::quotient;
use super::polygons;
use crate::error::{Result, expect_shape};
use crate::loops::slices::store_integers;
use crate::tensor::{View, ViewMut};
use crate::vision::{by_score, suppress};

/// Computes the number of polygons that [`polygon_nms`] selects, as a shape.
///
/// # Errors
/// As [`polygon_nms`].
pub fn polygon_nms_shape(x: &View<'_>, scores: Option<&View<'_>>, iou_threshold: f64) -> Result<Vec<usize>> {
    Ok(vec![selected(x, scores, iou_threshold)?.len()])
}

/// Selects the polygons that do not overlap a previously selected one, and writes their indices, as
/// [`nms`](crate::vision::nms) does for boxes.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape) unless there is a score for each
/// polygon and an output for each selected one, and [`Error::Type`](crate::Error::Type).
pub fn polygon_nms(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    scores: Option<&View<'_>>,
    iou_threshold: f64,
) -> Result<()> {
    let selected = selected(x, scores, iou_threshold)?;
    expect_shape(&[selected.len()], out.dims())?;
    store_integers(out, &selected)
}

fn selected(x: &View<'_>, scores: Option<&View<'_>>, threshold: f64) -> Result<Vec<i64>> {
    let polygons = polygons(x)?;
    let order = by_score(polygons.len(), scores)?;
    Ok(suppress(order, threshold, |a, b| quotient(&polygons[a], &polygons[b])))
}
