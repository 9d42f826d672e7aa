//! Scores that are lowered by overlaps (Wang et al., "SOLOv2", 2020).

use super::{COLUMNS, Detections, corners, limited, overlap, ranked};
use crate::attributes::MatrixNmsAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::elements;
use crate::sorting::compare;
use crate::tensor::{View, ViewMut};

/// Computes the shape of the results of [`matrix_nms`].
///
/// # Errors
/// As [`matrix_nms`].
pub fn matrix_nms_shape(
    bboxes: &View<'_>,
    scores: &View<'_>,
    with: &MatrixNmsAttributes,
) -> Result<Vec<usize>> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => Ok(vec![rules.detect::<T>(bboxes, scores)?.rows.len(), COLUMNS]))
}

/// Computes the shape of the indices of [`matrix_nms`].
///
/// # Errors
/// As [`matrix_nms`].
pub fn matrix_indices_shape(
    bboxes: &View<'_>,
    scores: &View<'_>,
    with: &MatrixNmsAttributes,
) -> Result<Vec<usize>> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => Ok(vec![rules.detect::<T>(bboxes, scores)?.rows.len(), 1]))
}

/// Computes the shape of the numbers of results of [`matrix_nms`].
///
/// # Errors
/// As [`matrix_nms`].
pub fn matrix_counts_shape(
    _bboxes: &View<'_>,
    scores: &View<'_>,
    _: &MatrixNmsAttributes,
) -> Result<Vec<usize>> {
    Ok(vec![ranked::<3>(scores.dims())?[0]])
}

/// Lowers the scores of boxes of each class that overlap better ones, and selects the best: the class, the score and
/// the corners of each, its index among all boxes, and their number in each image.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape), and
/// [`Error::Type`](crate::Error::Type).
pub fn matrix_nms(
    out: &mut ViewMut<'_>,
    index: &mut ViewMut<'_>,
    rois_num: &mut ViewMut<'_>,
    bboxes: &View<'_>,
    scores: &View<'_>,
    with: &MatrixNmsAttributes,
) -> Result<()> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => rules.detect::<T>(bboxes, scores)?.store(out, index, rois_num))
}

#[derive(Clone, Copy)]
struct Rules {
    /// The scores that boxes must exceed before and after they are lowered.
    thresholds: [f64; 2],
    nms_top_k: i64,
    keep_top_k: i64,
    /// The factor in the exponent of a Gaussian.
    sigma: Option<f64>,
    background_label: i64,
    normalized: bool,
}

impl Rules {
    fn of(with: &MatrixNmsAttributes) -> Self {
        let MatrixNmsAttributes {
            score_threshold,
            nms_top_k,
            keep_top_k,
            post_threshold,
            use_gaussian,
            gaussian_sigma,
            background_label,
            normalized,
        } = *with;
        let sigma = use_gaussian.then_some(gaussian_sigma);
        let thresholds = [score_threshold, post_threshold];
        Rules { thresholds, nms_top_k, keep_top_k, sigma, background_label, normalized }
    }

    fn detect<T: Float>(self, bboxes: &View<'_>, scores: &View<'_>) -> Result<Detections<T>> {
        let [batch, classes, count] = ranked(scores.dims())?;
        expect_shape(&[batch, count, 4], bboxes.dims())?;
        let (boxes, scores) = (elements::<T>(bboxes)?, elements::<T>(scores)?);
        let mut found = Detections { rows: vec![], indices: vec![], counts: vec![] };
        for image in 0..batch {
            let boxes = &corners(&boxes)[image * count..][..count];
            let mut selected: Vec<(usize, usize, T)> = vec![];
            for class in (0..classes).filter(|&class| class as i64 != self.background_label) {
                let scores = &scores[(image * classes + class) * count..][..count];
                selected.extend(self.lowered(boxes, scores).into_iter().map(|(n, score)| (class, n, score)));
            }
            selected.sort_by(|a, b| compare(b.2, a.2));
            selected.truncate(limited(selected.len(), self.keep_top_k));
            for &(class, n, score) in &selected {
                let [x1, y1, x2, y2] = boxes[n];
                found.rows.push([T::of(class as f64), score, x1, y1, x2, y2]);
                found.indices.push((image * count + n) as i64);
            }
            found.counts.push(selected.len() as i64);
        }
        Ok(found)
    }

    /// Returns the boxes of a class with their lowered scores.
    fn lowered<T: Float>(self, boxes: &[[T; 4]], scores: &[T]) -> Vec<(usize, T)> {
        let [before, after] = self.thresholds.map(T::of);
        let mut order: Vec<usize> = (0..scores.len()).filter(|&n| scores[n] > before).collect();
        order.sort_by(|&a, &b| compare(scores[b], scores[a]));
        order.truncate(limited(order.len(), self.nms_top_k));
        let overlaps_of = |n: usize| -> Vec<T> {
            let with = |&other: &usize| overlap(&boxes[order[n]], &boxes[other], self.normalized);
            order[..n].iter().map(with).collect()
        };
        let overlaps: Vec<Vec<T>> = (0..order.len()).map(overlaps_of).collect();
        let largest: Vec<T> =
            overlaps.iter().map(|row| row.iter().fold(T::ZERO, |top, &overlap| top.max(overlap))).collect();
        let decay = |overlap: T, largest: T| match self.sigma {
            Some(sigma) => ((largest * largest - overlap * overlap) * T::of(sigma)).exp(),
            None => (T::ONE - overlap) / (T::ONE - largest),
        };
        let score = |n: usize| {
            let decays = overlaps[n].iter().zip(&largest).map(|(&overlap, &largest)| decay(overlap, largest));
            decays.fold(T::ONE, |least, decay| if decay < least { decay } else { least }) * scores[order[n]]
        };
        (0..order.len()).map(|n| (order[n], score(n))).filter(|&(_, score)| score > after).collect()
    }
}
