//! Neighbours, samples, boxes and voxels of points in space.
//!
//! Point clouds are `[batch, points, coordinates]`, unless an operator says otherwise.

mod balls;
mod boxes;
mod farthest;
mod nearest;
mod polygons;
mod roi_aware;
mod roi_points;
mod scatter;
mod scores;
mod voxels;

pub use balls::{ball_query, ball_query_shape};
pub use boxes::{points_in_boxes, points_in_boxes_shape};
pub use farthest::{farthest_points, farthest_points_shape};
pub use nearest::{nearest_points, nearest_points_shape};
pub use polygons::{points_in_polygons, points_in_polygons_shape};
pub use roi_aware::{roi_aware_pool, roi_aware_pool_grad};
pub use roi_points::roi_point_pool;
pub use scatter::{pool_points, pool_points_grad};
pub use scores::{assign_scores, assign_scores_grad, assign_scores_shape};
pub use voxels::{voxel_coordinates, voxel_coordinates_shape, voxelize};

use crate::elements::float::Float;
use crate::error::{Error, Result};
use crate::tensor::TensorMeta;

/// Returns the three dimensions of a tensor.
fn cloud(x: TensorMeta<'_>) -> Result<[usize; 3]> {
    x.dims().try_into().map_err(|_| Error::Rank { dims: x.dims().len(), strides: 3 })
}

/// Converts the value of an attribute to a number of elements.
fn count(name: &'static str, value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::Attribute { name, value: value.to_string() })
}

/// Computes the squared distance of two points.
fn squared_distance<T: Float>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::ZERO, |sum, (&a, &b)| sum + (a - b) * (a - b))
}
