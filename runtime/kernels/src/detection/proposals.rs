//! The best boxes of a region proposal network (Ren et al., "Faster R-CNN", 2015).

use super::{Suppression, corners, ranked};
use crate::attributes::GenerateProposalsAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, elements, store_integers};
use crate::sorting::compare;
use crate::tensor::{View, ViewMut};

/// Computes the shape of the boxes of [`generate_proposals`].
///
/// # Errors
/// As [`generate_proposals`].
pub fn proposals_shape(
    scores: &View<'_>,
    bbox_deltas: &View<'_>,
    im_shape: &View<'_>,
    anchors: &View<'_>,
    variances: &View<'_>,
    with: &GenerateProposalsAttributes,
) -> Result<Vec<usize>> {
    let images = [scores, bbox_deltas, im_shape, anchors, variances];
    with_float!(scores.dtype(), T => {
        let found = select::<T>(with, images)?;
        Ok(vec![found.iter().map(|proposals| proposals.boxes.len()).sum(), 4])
    })
}

/// Computes the shape of the scores of [`generate_proposals`].
///
/// # Errors
/// As [`generate_proposals`].
pub fn proposal_scores_shape(
    scores: &View<'_>,
    bbox_deltas: &View<'_>,
    im_shape: &View<'_>,
    anchors: &View<'_>,
    variances: &View<'_>,
    with: &GenerateProposalsAttributes,
) -> Result<Vec<usize>> {
    let images = [scores, bbox_deltas, im_shape, anchors, variances];
    with_float!(scores.dtype(), T => {
        let found = select::<T>(with, images)?;
        Ok(vec![found.iter().map(|proposals| proposals.boxes.len()).sum(), 1])
    })
}

/// Computes the shape of the numbers of boxes of [`generate_proposals`].
///
/// # Errors
/// As [`generate_proposals`].
pub fn proposal_counts_shape(
    scores: &View<'_>,
    _bbox_deltas: &View<'_>,
    _im_shape: &View<'_>,
    _anchors: &View<'_>,
    _variances: &View<'_>,
    _: &GenerateProposalsAttributes,
) -> Result<Vec<usize>> {
    Ok(vec![ranked::<4>(scores.dims())?[0]])
}

/// Selects the boxes with the best scores of each image: decodes the offsets from the anchors, limits the boxes to the
/// image, leaves out small ones, and those that overlap a better one. An image without boxes has one of zeros.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape),
/// [`Error::Length`](crate::Error::Length) unless there is an anchor and a variance for each score of an image, and
/// [`Error::Type`](crate::Error::Type).
pub fn generate_proposals(
    rpn_rois: &mut ViewMut<'_>,
    rpn_roi_probs: &mut ViewMut<'_>,
    rpn_rois_num: &mut ViewMut<'_>,
    scores: &View<'_>,
    bbox_deltas: &View<'_>,
    im_shape: &View<'_>,
    anchors: &View<'_>,
    variances: &View<'_>,
    with: &GenerateProposalsAttributes,
) -> Result<()> {
    let images = [scores, bbox_deltas, im_shape, anchors, variances];
    with_float!(scores.dtype(), T => {
        let found = select::<T>(with, images)?;
        let boxes: Vec<T> = found.iter().flat_map(|proposals| proposals.boxes.iter().flatten().copied()).collect();
        let scores: Vec<T> = found.iter().flat_map(|proposals| proposals.scores.iter().copied()).collect();
        let counts: Vec<i64> = found.iter().map(|proposals| proposals.boxes.len() as i64).collect();
        expect_shape(&[scores.len(), 4], rpn_rois.dims())?;
        expect_shape(&[scores.len(), 1], rpn_roi_probs.dims())?;
        expect_shape(&[counts.len()], rpn_rois_num.dims())?;
        T::store(rpn_rois, &boxes)?;
        T::store(rpn_roi_probs, &scores)?;
        store_integers(rpn_rois_num, &counts)
    })
}

/// The logarithm of the largest factor of the size of an anchor.
const LARGEST: f64 = 4.135_166_556_742_356;

struct Proposals<T> {
    boxes: Vec<[T; 4]>,
    scores: Vec<T>,
}

/// The offsets of an image, and what they are offsets from.
struct Image<'i, T> {
    scores: &'i [T],
    deltas: &'i [T],
    anchors: &'i [[T; 4]],
    variances: &'i [[T; 4]],
    /// The number of anchors of a pixel.
    count: usize,
    height: T,
    width: T,
}

fn select<T: Float>(
    with: &GenerateProposalsAttributes,
    [scores, deltas, sizes, anchors, variances]: [&View<'_>; 5],
) -> Result<Vec<Proposals<T>>> {
    let [batch, count, height, width] = ranked(scores.dims())?;
    expect_shape(&[batch, 4 * count, height, width], deltas.dims())?;
    expect_shape(&[batch, 2], sizes.dims())?;
    let all = count * height * width;
    expect_length("anchors", 4 * all, anchors.len())?;
    expect_length("variances", 4 * all, variances.len())?;
    let [scores, deltas, sizes] = [elements::<T>(scores)?, elements(deltas)?, elements(sizes)?];
    let [anchors, variances] = [elements::<T>(anchors)?, elements(variances)?];
    let image = |n: usize| Image {
        scores: &scores[n * all..][..all],
        deltas: &deltas[n * 4 * all..][..4 * all],
        anchors: corners(&anchors),
        variances: corners(&variances),
        count,
        height: sizes[n * 2],
        width: sizes[n * 2 + 1],
    };
    Ok((0..batch).map(|n| of_image(with, &image(n))).collect())
}

fn of_image<T: Float>(with: &GenerateProposalsAttributes, image: &Image<'_, T>) -> Proposals<T> {
    // The anchors of a pixel are neighbours, while the scores of an anchor are an image.
    let pixels = image.scores.len() / image.count.max(1);
    let score = |n: usize| image.scores[n % image.count * pixels + n / image.count];
    let mut order: Vec<usize> = (0..image.scores.len()).collect();
    order.sort_by(|&a, &b| compare(score(b), score(a)));
    if with.pre_nms_top_n > 0 {
        order.truncate(with.pre_nms_top_n as usize);
    }
    let mut kept = Proposals { boxes: vec![], scores: vec![] };
    for n in order {
        let delta = |corner: usize| image.deltas[(n % image.count * 4 + corner) * pixels + n / image.count];
        let decoded = decode(with, image, n, std::array::from_fn(delta));
        if is_large(with, image, &decoded) {
            kept.boxes.push(decoded);
            kept.scores.push(score(n));
        }
    }
    if kept.boxes.is_empty() {
        return Proposals { boxes: vec![[T::ZERO; 4]], scores: vec![T::ZERO] };
    }
    if with.nms_thresh <= 0.0 {
        return kept;
    }
    let rules = Suppression { threshold: with.nms_thresh, eta: with.eta, normalized: !with.pixel_offset };
    let order: Vec<usize> = (0..kept.boxes.len()).collect();
    let mut selected = rules.select(&kept.boxes, &order);
    if with.post_nms_top_n > 0 {
        selected.truncate(with.post_nms_top_n as usize);
    }
    Proposals {
        boxes: selected.iter().map(|&n| kept.boxes[n]).collect(),
        scores: selected.iter().map(|&n| kept.scores[n]).collect(),
    }
}

/// Returns a box within the image.
fn decode<T: Float>(
    with: &GenerateProposalsAttributes,
    image: &Image<'_, T>,
    n: usize,
    delta: [T; 4],
) -> [T; 4] {
    let one = if with.pixel_offset { T::ONE } else { T::ZERO };
    let half = T::of(0.5);
    let (anchor, variance) = (&image.anchors[n], &image.variances[n]);
    let limits = [image.width - one, image.height - one];
    let mut corners = [T::ZERO; 4];
    for axis in 0..2 {
        let size = anchor[axis + 2] - anchor[axis] + one;
        let center = variance[axis] * delta[axis] * size + anchor[axis] + half * size;
        let exponent = variance[axis + 2] * delta[axis + 2];
        let size = exponent.min(T::of(LARGEST)).exp() * size;
        let inside = |corner: T| corner.min(limits[axis]).max(T::ZERO);
        corners[axis] = inside(center - size * half);
        corners[axis + 2] = inside(center + size * half - one);
    }
    corners
}

fn is_large<T: Float>(
    with: &GenerateProposalsAttributes,
    image: &Image<'_, T>,
    [x1, y1, x2, y2]: &[T; 4],
) -> bool {
    let least = T::of(with.min_size.max(1.0));
    let one = if with.pixel_offset { T::ONE } else { T::ZERO };
    let (width, height) = (*x2 - *x1 + one, *y2 - *y1 + one);
    let half = T::of(0.5);
    let is_inside = *x1 + width * half <= image.width && *y1 + height * half <= image.height;
    width >= least && height >= least && (is_inside || !with.pixel_offset)
}
