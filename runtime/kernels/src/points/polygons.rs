//! Points in quadrangles.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`points_in_polygons`].
///
/// # Errors
/// None.
pub fn points_in_polygons_shape(x: TensorMeta<'_>, polygons: TensorMeta<'_>) -> Result<Vec<usize>> {
    Ok([x, polygons].map(|rows| rows.dims().first().copied().unwrap_or(0)).to_vec())
}

/// Computes which points are in which quadrangles `x1, y1, …, x4, y4`: 1 if a ray from the point crosses an
/// odd number of edges, or if the point is a corner.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), and [`Error::Type`](crate::Error::Type) unless the points are floating-point.
pub fn points_in_polygons(out: &mut ViewMut<'_>, x: &View<'_>, polygons: &View<'_>) -> Result<()> {
    let shape = points_in_polygons_shape(x.meta(), polygons.meta())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(&[shape[0], 2], x.dims())?;
    expect_shape(&[shape[1], 8], polygons.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [x, polygons], |[out], [x, polygons]| {
            let (points, polygons) = (x.as_chunks::<2>().0, polygons.as_chunks::<8>().0);
            let pairs = points.iter().flat_map(|point| polygons.iter().map(move |polygon| (point, polygon)));
            for (out, (point, polygon)) in out.iter_mut().zip(pairs) {
                *out = if contains(polygon, point) { T::ONE } else { T::ZERO };
            }
            Ok(())
        })
    })
}

fn contains<T: Float>(polygon: &[T; 8], &[x, y]: &[T; 2]) -> bool {
    let corners = polygon.as_chunks::<2>().0;
    let mut crosses_odd = false;
    for (&[x1, y1], &[x2, y2]) in corners.iter().zip(corners.iter().cycle().skip(3)) {
        if (x1 == x && y1 == y) || (x2 == x && y2 == y) {
            return true;
        }
        if (y1 < y) != (y2 < y) {
            let crossing = x1 + (y - y1) * (x2 - x1) / (y2 - y1);
            if crossing == x {
                return true;
            }
            crosses_odd ^= crossing > x;
        }
    }
    crosses_odd
}
