//! Boxes of detectors, and pools of regions.
//!
//! A box is its corners `x1, y1, x2, y2`. Where corners are pixels, a box from 0 to 0 has the width 1; where they are
//! normalised, its width is 0.

mod boxes;
mod classes;
mod matrix;
mod pools;
mod proposals;
mod yolo;

pub use boxes::{box_coder, box_coder_shape, prior_box, prior_box_shape};
pub use classes::{multiclass_counts_shape, multiclass_indices_shape, multiclass_nms, multiclass_nms_shape};
pub use matrix::{matrix_counts_shape, matrix_indices_shape, matrix_nms, matrix_nms_shape};
pub use pools::{
    psroi_pool, psroi_pool_grad, psroi_pool_shape, roi_max_pool, roi_max_pool_grad, roi_max_pool_shape,
};
pub use proposals::{generate_proposals, proposal_counts_shape, proposal_scores_shape, proposals_shape};
pub use yolo::{yolo_box, yolo_boxes_shape, yolo_scores_shape};

use crate::elements::float::Float;
use crate::error::{Error, Result};

/// Returns the boxes of a list of coordinates.
fn corners<T: Float>(numbers: &[T]) -> &[[T; 4]] {
    numbers.as_chunks().0
}

/// Checks the number of dimensions of a tensor.
fn ranked<const N: usize>(dims: &[usize]) -> Result<[usize; N]> {
    dims.try_into().map_err(|_| Error::Rank { dims: dims.len(), strides: N })
}

/// Computes the area of the intersection of two boxes divided by that of their union. It is zero for boxes that do
/// not touch. The area of a box with corners in the wrong order is zero.
fn overlap<T: Float>(a: &[T; 4], b: &[T; 4], normalized: bool) -> T {
    if b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1] {
        return T::ZERO;
    }
    let one = if normalized { T::ZERO } else { T::ONE };
    let area = |[x1, y1, x2, y2]: &[T; 4]| {
        if x2 < x1 || y2 < y1 { T::ZERO } else { (*x2 - *x1 + one) * (*y2 - *y1 + one) }
    };
    let width = a[2].min(b[2]) - a[0].max(b[0]) + one;
    let height = a[3].min(b[3]) - a[1].max(b[1]) + one;
    let both = width * height;
    both / (area(a) + area(b) - both)
}

/// The rules that boxes are suppressed by.
#[derive(Clone, Copy)]
struct Suppression {
    threshold: f64,
    /// The factor of the threshold after each selected box, while it is above 0.5.
    eta: f64,
    normalized: bool,
}

impl Suppression {
    /// Returns the boxes of an order that do not overlap an earlier one.
    fn select<T: Float>(self, boxes: &[[T; 4]], order: &[usize]) -> Vec<usize> {
        let (mut threshold, mut selected) = (T::of(self.threshold), Vec::<usize>::new());
        for &index in order {
            let fits = |&other: &usize| overlap(&boxes[index], &boxes[other], self.normalized) <= threshold;
            if selected.iter().all(fits) {
                selected.push(index);
                if self.eta < 1.0 && threshold > T::of(0.5) {
                    threshold *= T::of(self.eta);
                }
            }
        }
        selected
    }
}

/// Detected boxes: the class, the score and the corners of each, its index among all boxes, and their numbers in each
/// image.
#[derive(Default)]
struct Detections<T> {
    rows: Vec<[T; 6]>,
    indices: Vec<i64>,
    counts: Vec<i64>,
}

/// The number of columns of a detection.
const COLUMNS: usize = 6;

/// Limits a number of results; a negative limit stands for none.
fn limited(count: usize, limit: i64) -> usize {
    usize::try_from(limit).map_or(count, |limit| limit.min(count))
}
