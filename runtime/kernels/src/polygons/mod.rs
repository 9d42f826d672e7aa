//! Overlaps of rotated boxes and of convex polygons.
//!
//! A row of a tensor is a polygon: with 5 elements a rotated box `x, y, width, height, angle`, with 7 a box in
//! space `x, y, z, x_size, y_size, z_size, angle`, seen from above. Other rows are the coordinates `x1, y1, …`
//! of three points or more, and stand for the convex hull of the points.
//!
//! All sizes are computed in `f64`, because small differences of large areas determine them.

mod convex;
mod gradient;
mod nms;
mod overlaps;
mod rectangles;
mod vertices;

pub use gradient::generalized_overlaps;
pub use nms::{polygon_nms, polygon_nms_shape};
pub use overlaps::{polygon_overlaps, polygon_overlaps_shape};
pub use rectangles::{enclosing_rectangles, enclosing_rectangles_shape};
pub use vertices::{sort_vertices, sort_vertices_shape};

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::loops::slices::floats;
use crate::tensor::View;

/// A point in the plane.
type Point = [f64; 2];

/// The corners of a convex polygon in counterclockwise order. It may have fewer than three corners.
type Polygon = SmallVec<[Point; 16]>;

/// Reads the points of each row, which have the same number of points.
fn point_sets(rows: &View<'_>) -> Result<(Vec<Point>, usize)> {
    let &[count, columns] = rows.dims() else {
        return Err(Error::Rank { dims: rows.dims().len(), strides: 2 });
    };
    let is_box = matches!(columns, 5 | 7);
    if !is_box && (columns < 6 || columns % 2 == 1) {
        return Err(Error::Shape { expected: vec![count, 5], actual: rows.dims().to_vec() });
    }
    let numbers = floats(rows)?;
    Ok(match columns {
        5 => (
            numbers
                .as_chunks()
                .0
                .iter()
                .flat_map(|&[x, y, w, h, turn]| corners([x, y], [w, h], turn))
                .collect(),
            4,
        ),
        7 => {
            let boxes = numbers.as_chunks().0.iter();
            (boxes.flat_map(|&[x, y, _, w, h, _, turn]| corners([x, y], [w, h], turn)).collect(), 4)
        }
        _ => (numbers.as_chunks().0.to_vec(), columns / 2),
    })
}

/// Returns the corners of a rotated rectangle.
fn corners([x, y]: Point, [width, height]: [f64; 2], angle: f64) -> [Point; 4] {
    let (sin, cos) = angle.sin_cos();
    [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]].map(|[along, across]| {
        let (along, across) = (along * width, across * height);
        [x + along * cos - across * sin, y + along * sin + across * cos]
    })
}

/// Reads the convex hull of each row.
fn polygons(rows: &View<'_>) -> Result<Vec<Polygon>> {
    let (points, count) = point_sets(rows)?;
    Ok(points.chunks(count).map(convex::hull).collect())
}
