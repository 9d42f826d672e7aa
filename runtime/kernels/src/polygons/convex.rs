//! Convex polygons: hulls, areas and intersections.

use super::{Point, Polygon};

/// Returns twice the signed area of a triangle, which is positive if its corners are in counterclockwise order.
pub(super) fn cross(origin: Point, a: Point, b: Point) -> f64 {
    (a[0] - origin[0]) * (b[1] - origin[1]) - (b[0] - origin[0]) * (a[1] - origin[1])
}

/// Returns the indices of the points that are corners of the convex hull, in counterclockwise order.
///
/// Points on an edge of the hull are no corners. Points in one place count once.
pub(super) fn hull_indices(points: &[Point]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        points[a][0].total_cmp(&points[b][0]).then(points[a][1].total_cmp(&points[b][1])).then(a.cmp(&b))
    });
    order.dedup_by(|a, b| points[*a] == points[*b]);
    if order.len() < 3 {
        return order;
    }
    let mut hull: Vec<usize> = Vec::with_capacity(2 * order.len());
    // The lower half from left to right, then the upper half back.
    extend(&mut hull, points, order.iter().copied(), 0);
    let lower = hull.len() - 1;
    hull.pop();
    extend(&mut hull, points, order.iter().rev().copied(), lower);
    hull.pop();
    hull
}

/// Adds points to a chain that only turns left. The corners before `start` stay.
fn extend(chain: &mut Vec<usize>, points: &[Point], order: impl Iterator<Item = usize>, start: usize) {
    for next in order {
        while chain.len() >= start + 2 {
            let (last, before) = (chain[chain.len() - 1], chain[chain.len() - 2]);
            if cross(points[before], points[last], points[next]) > 0.0 {
                break;
            }
            chain.pop();
        }
        chain.push(next);
    }
}

/// Returns the convex hull of points.
pub(super) fn hull(points: &[Point]) -> Polygon {
    hull_indices(points).into_iter().map(|index| points[index]).collect()
}

/// Returns the area of a polygon, which is positive for counterclockwise order.
pub(super) fn area(polygon: &[Point]) -> f64 {
    let Some(&origin) = polygon.first() else { return 0.0 };
    polygon.windows(2).map(|edge| cross(origin, edge[0], edge[1])).sum::<f64>() / 2.0
}

/// Returns the area of the intersection of two convex polygons.
pub(super) fn shared_area(a: &[Point], b: &[Point]) -> f64 {
    if a.len() < 3 || b.len() < 3 {
        return 0.0;
    }
    // Coordinates relative to a corner lose no digits to the distance from zero.
    let origin = a[0];
    let near = |polygon: &[Point]| polygon.iter().map(|[x, y]| [x - origin[0], y - origin[1]]).collect();
    let (mut rest, b): (Polygon, Polygon) = (near(a), near(b));
    for (n, &from) in b.iter().enumerate() {
        rest = left_of(&rest, from, b[(n + 1) % b.len()]);
    }
    area(&rest).max(0.0)
}

/// Returns the part of a convex polygon that is not to the right of a line.
fn left_of(polygon: &[Point], from: Point, to: Point) -> Polygon {
    let mut rest = Polygon::new();
    for (n, &corner) in polygon.iter().enumerate() {
        let next = polygon[(n + 1) % polygon.len()];
        let (side, other) = (cross(from, to, corner), cross(from, to, next));
        if side >= 0.0 {
            rest.push(corner);
        }
        if (side > 0.0 && other < 0.0) || (side < 0.0 && other > 0.0) {
            let part = side / (side - other);
            rest.push([0, 1].map(|axis| corner[axis] + part * (next[axis] - corner[axis])));
        }
    }
    rest
}
