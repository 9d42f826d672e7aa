//! Generalized overlaps (Rezatofighi et al., "Generalized Intersection over Union", 2019), with their gradients.

use super::convex::{area, cross, hull, hull_indices, shared_area};
use super::{Point, Polygon, point_sets, polygons};
use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_length, expect_shape};
use crate::numeric::Numeric;

use crate::loops::slices::Slot;
use crate::tensor::{View, ViewMut};

/// Computes the generalized overlaps of polygons with the same index, and their gradients with respect to the
/// points of the first ones.
///
/// The generalized overlap is the area of the intersection divided by that of the union, plus the area of the
/// union divided by that of the hull of both, minus 1. Points inside of their hull have no gradient. The
/// result is 0 if the hull of both has no area.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape),
/// [`Error::Length`](crate::Error::Length) unless the rows of `x` are points, and
/// [`Error::Type`](crate::Error::Type).
pub fn generalized_overlaps(
    out: &mut ViewMut<'_>,
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
) -> Result<()> {
    let (points, count) = point_sets(x)?;
    expect_length("x", 2 * count, x.dims()[1])?;
    let second = polygons(y)?;
    expect_shape(&[second.len()], &x.dims()[..1])?;
    expect_shape(&[second.len()], out.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let results: Vec<(f64, Vec<Point>)> =
        points.chunks(count).zip(&second).map(|(points, other)| overlap(points, other)).collect();
    with_float!(out.dtype(), T => {
        T::store(out, &results.iter().map(|&(overlap, _)| T::of(overlap)).collect::<Vec<_>>())
    })?;
    let slopes = results.iter().flat_map(|(_, slopes)| slopes.as_flattened());
    with_float!(dx.dtype(), T => T::store(dx, &slopes.map(|&slope| T::of(slope)).collect::<Vec<_>>()))
}

fn overlap(points: &[Point], other: &[Point]) -> (f64, Vec<Point>) {
    let own = hull_indices(points);
    let corners: Polygon = own.iter().map(|&index| points[index]).collect();
    let all: Vec<Point> = points.iter().chain(other).copied().collect();
    let around = hull_indices(&all);
    let mut slopes = vec![[0.0; 2]; points.len()];
    let both = shared_area(&corners, other);
    let union = area(&corners) + area(other) - both;
    let whole = area(&hull(&all));
    if union <= 0.0 || whole <= 0.0 {
        return (0.0, slopes);
    }
    // The derivatives of the result with respect to the three areas.
    let of_union = 1.0 / whole - both / (union * union);
    let of_both = 1.0 / union - of_union;
    let of_whole = -union / (whole * whole);
    let mut add = |polygon: &[usize], factor: f64, clip: Option<&[Point]>| {
        for (n, &from) in polygon.iter().enumerate() {
            let to = polygon[(n + 1) % polygon.len()];
            let Some([start, end]) = clip.map_or(Some([0.0, 1.0]), |clip| seen(all[from], all[to], clip))
            else {
                continue;
            };
            // An area grows by the motion of its border: that of an edge is a mean of those of its ends.
            let of_to = (end * end - start * start) / 2.0;
            for (corner, part) in [(from, end - start - of_to), (to, of_to)] {
                if let Some(slope) = slopes.get_mut(corner) {
                    slope[0] += factor * part * (all[to][1] - all[from][1]);
                    slope[1] -= factor * part * (all[to][0] - all[from][0]);
                }
            }
        }
    };
    add(&own, of_union, None);
    add(&own, of_both, Some(other));
    add(&around, of_whole, None);
    (both / union + union / whole - 1.0, slopes)
}

/// Returns the part of an edge that is inside of a convex polygon, as fractions of its length.
fn seen(from: Point, to: Point, polygon: &[Point]) -> Option<[f64; 2]> {
    let [mut start, mut end] = [0.0_f64, 1.0];
    for (n, &corner) in polygon.iter().enumerate() {
        let next = polygon[(n + 1) % polygon.len()];
        let (side, other) = (cross(corner, next, from), cross(corner, next, to));
        match (side >= 0.0, other >= 0.0) {
            (true, true) => {}
            (true, false) => end = end.min(side / (side - other)),
            (false, true) => start = start.max(side / (side - other)),
            (false, false) => return None,
        }
    }
    (polygon.len() > 2 && start < end).then_some([start, end])
}
