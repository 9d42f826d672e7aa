//! Rectangles with the smallest area around points.

use super::convex::hull;
use super::{Point, point_sets};
use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_shape};
use crate::numeric::Numeric;

use crate::loops::slices::Slot;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`enclosing_rectangles`].
///
/// # Errors
/// None.
pub fn enclosing_rectangles_shape(x: TensorMeta<'_>) -> Result<Vec<usize>> {
    Ok(vec![x.dims().first().copied().unwrap_or(0), 8])
}

/// Computes the corners of the smallest rectangle, rotated in any way, around the points of each row.
///
/// In the frame of the rectangle, which is rotated by less than a quarter turn, the corners are in the order
/// right and bottom, left and bottom, left and top, right and top.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape) and
/// [`Error::Type`](crate::Error::Type).
pub fn enclosing_rectangles(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    expect_shape(&enclosing_rectangles_shape(x.meta())?, out.dims())?;
    let (points, count) = point_sets(x)?;
    let corners: Vec<f64> = points.chunks(count).flat_map(rectangle).flatten().collect();
    with_float!(out.dtype(), T => {
        T::store(out, &corners.into_iter().map(T::of).collect::<Vec<_>>())
    })
}

fn rectangle(points: &[Point]) -> [Point; 4] {
    let corners = hull(points);
    // The coordinates of all corners in the frame that an edge is parallel to, relative to the first corner.
    let origin = corners[0];
    let mut best: Option<(f64, [Point; 4])> = None;
    for (n, from) in corners.iter().enumerate() {
        let to = corners[(n + 1) % corners.len()];
        let Some([cos, sin]) = frame([to[0] - from[0], to[1] - from[1]]) else { continue };
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for corner in &corners {
            let [x, y] = [corner[0] - origin[0], corner[1] - origin[1]];
            for (axis, place) in [x * cos + y * sin, y * cos - x * sin].into_iter().enumerate() {
                (low[axis], high[axis]) = (low[axis].min(place), high[axis].max(place));
            }
        }
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        if best.is_none_or(|(smallest, _)| area < smallest) {
            let back = |x: f64, y: f64| [origin[0] + x * cos - y * sin, origin[1] + x * sin + y * cos];
            let [[left, bottom], [right, top]] = [low, high];
            best = Some((area, [back(right, bottom), back(left, bottom), back(left, top), back(right, top)]));
        }
    }
    // All points are in one place.
    best.map_or([origin; 4], |(_, corners)| corners)
}

/// Returns cosine and sine of the angle of an edge, reduced to less than a quarter turn.
fn frame([mut x, mut y]: [f64; 2]) -> Option<[f64; 2]> {
    let length = x.hypot(y);
    if length == 0.0 {
        return None;
    }
    while !(x > 0.0 && y >= 0.0) && length.is_finite() {
        (x, y) = (y, -x);
    }
    Some([x / length, y / length])
}
