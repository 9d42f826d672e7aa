//! Non-maximum suppression for each class.

use super::{COLUMNS, Detections, Suppression, corners, limited, ranked};
use crate::attributes::MulticlassNmsAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{elements, integers, store_integers};
use crate::sorting::compare;
use crate::tensor::{View, ViewMut};

/// Computes the shape of the results of [`multiclass_nms`].
///
/// # Errors
/// As [`multiclass_nms`].
pub fn multiclass_nms_shape(
    bboxes: &View<'_>,
    scores: &View<'_>,
    rois_num: Option<&View<'_>>,
    with: &MulticlassNmsAttributes,
) -> Result<Vec<usize>> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => {
        Ok(vec![rules.detect::<T>(bboxes, scores, rois_num)?.rows.len(), COLUMNS])
    })
}

/// Computes the shape of the indices of [`multiclass_nms`].
///
/// # Errors
/// As [`multiclass_nms`].
pub fn multiclass_indices_shape(
    bboxes: &View<'_>,
    scores: &View<'_>,
    rois_num: Option<&View<'_>>,
    with: &MulticlassNmsAttributes,
) -> Result<Vec<usize>> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => {
        Ok(vec![rules.detect::<T>(bboxes, scores, rois_num)?.rows.len(), 1])
    })
}

/// Computes the shape of the numbers of results of [`multiclass_nms`].
///
/// # Errors
/// As [`multiclass_nms`].
pub fn multiclass_counts_shape(
    _bboxes: &View<'_>,
    scores: &View<'_>,
    rois_num: Option<&View<'_>>,
    _: &MulticlassNmsAttributes,
) -> Result<Vec<usize>> {
    match (scores.dims(), rois_num) {
        (&[batch, _, _], _) => Ok(vec![batch]),
        (_, Some(counts)) => Ok(vec![counts.len()]),
        (_, None) => Err(Error::Missing { missing: "rois_num", because: "scores" }),
    }
}

/// Selects boxes of each class that do not overlap a better one: the class, the score and the corners of each, its
/// index among all boxes, and their number in each image.
///
/// Boxes are `[batch, boxes, 4]` and scores `[batch, classes, boxes]`. Or boxes are `[boxes, classes, 4]`, scores
/// `[boxes, classes]`, and `rois_num` says how many boxes belong to each image. A negative number of boxes to try or
/// to keep stands for all.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Missing`], [`Error::Length`] if the numbers do not cover all boxes, and
/// [`Error::Type`].
pub fn multiclass_nms(
    out: &mut ViewMut<'_>,
    index: &mut ViewMut<'_>,
    nms_rois_num: &mut ViewMut<'_>,
    bboxes: &View<'_>,
    scores: &View<'_>,
    rois_num: Option<&View<'_>>,
    with: &MulticlassNmsAttributes,
) -> Result<()> {
    let rules = Rules::of(with);
    with_float!(bboxes.dtype(), T => {
        rules.detect::<T>(bboxes, scores, rois_num)?.store(out, index, nms_rois_num)
    })
}

impl<T: Float> Detections<T> {
    /// Writes detections to the outputs of a kernel.
    pub(super) fn store(
        &self,
        out: &mut ViewMut<'_>,
        index: &mut ViewMut<'_>,
        counts: &mut ViewMut<'_>,
    ) -> Result<()> {
        expect_shape(&[self.rows.len(), COLUMNS], out.dims())?;
        expect_shape(&[self.rows.len(), 1], index.dims())?;
        expect_shape(&[self.counts.len()], counts.dims())?;
        T::store(out, self.rows.as_flattened())?;
        store_integers(index, &self.indices)?;
        store_integers(counts, &self.counts)
    }
}

#[derive(Clone, Copy)]
struct Rules {
    score_threshold: f64,
    nms_top_k: i64,
    keep_top_k: i64,
    suppression: Suppression,
    background_label: i64,
}

/// The boxes of an image: the box and the score of each class.
struct Image<'i, T> {
    boxes: &'i [[T; 4]],
    scores: &'i [T],
    count: usize,
    classes: usize,
    /// True if each class has its own boxes, in a row for each box.
    is_by_class: bool,
}

impl<T: Float> Image<'_, T> {
    fn place(&self, class: usize, n: usize) -> usize {
        if self.is_by_class { n * self.classes + class } else { class * self.count + n }
    }

    fn score(&self, class: usize, n: usize) -> T {
        self.scores[self.place(class, n)]
    }

    fn corners(&self, class: usize, n: usize) -> [T; 4] {
        self.boxes[if self.is_by_class { self.place(class, n) } else { n }]
    }
}

impl Rules {
    fn of(with: &MulticlassNmsAttributes) -> Self {
        let MulticlassNmsAttributes {
            score_threshold,
            nms_top_k,
            keep_top_k,
            nms_threshold,
            normalized,
            nms_eta,
            background_label,
        } = *with;
        let suppression = Suppression { threshold: nms_threshold, eta: nms_eta, normalized };
        Rules { score_threshold, nms_top_k, keep_top_k, suppression, background_label }
    }

    fn detect<T: Float>(
        self,
        bboxes: &View<'_>,
        scores: &View<'_>,
        rois_num: Option<&View<'_>>,
    ) -> Result<Detections<T>> {
        let (boxes, values) = (elements::<T>(bboxes)?, elements::<T>(scores)?);
        let boxes = corners(&boxes);
        let mut found = Detections { rows: vec![], indices: vec![], counts: vec![] };
        if let &[batch, classes, count] = scores.dims() {
            expect_shape(&[batch, count, 4], bboxes.dims())?;
            for n in 0..batch {
                let image = Image {
                    boxes: &boxes[n * count..][..count],
                    scores: &values[n * classes * count..][..classes * count],
                    count,
                    classes,
                    is_by_class: false,
                };
                self.of_image(&image, n * count, &mut found);
            }
            return Ok(found);
        }
        let [rows, classes] = ranked(scores.dims())?;
        expect_shape(&[rows, classes, 4], bboxes.dims())?;
        let counts = rois_num.ok_or(Error::Missing { missing: "rois_num", because: "scores" })?;
        let mut start = 0;
        for count in integers(counts)? {
            let count = usize::try_from(count).ok().filter(|count| start + count <= rows);
            let count = count.ok_or(Error::Length { what: "bboxes", expected: rows + 1, actual: rows })?;
            let image = Image {
                boxes: &boxes[start * classes..][..count * classes],
                scores: &values[start * classes..][..count * classes],
                count,
                classes,
                is_by_class: true,
            };
            self.of_image(&image, start * classes, &mut found);
            start += count;
        }
        crate::expect_length("bboxes", start, rows)?;
        Ok(found)
    }

    fn of_image<T: Float>(self, image: &Image<'_, T>, first: usize, found: &mut Detections<T>) {
        let mut selected: Vec<(usize, usize)> = vec![];
        for class in 0..image.classes {
            if class as i64 == self.background_label {
                continue;
            }
            let boxes: Vec<[T; 4]> = (0..image.count).map(|n| image.corners(class, n)).collect();
            let threshold = T::of(self.score_threshold);
            let mut order: Vec<usize> =
                (0..image.count).filter(|&n| image.score(class, n) > threshold).collect();
            order.sort_by(|&a, &b| compare(image.score(class, b), image.score(class, a)));
            order.truncate(limited(order.len(), self.nms_top_k));
            selected.extend(self.suppression.select(&boxes, &order).into_iter().map(|n| (class, n)));
        }
        // Only if too many are left are they chosen by their scores; the order is by class again.
        let kept = limited(selected.len(), self.keep_top_k);
        if kept < selected.len() {
            selected.sort_by(|a, b| compare(image.score(b.0, b.1), image.score(a.0, a.1)));
            selected.truncate(kept);
            selected.sort_by_key(|&(class, _)| class);
        }
        if image.is_by_class {
            selected.sort_unstable();
        }
        for &(class, n) in &selected {
            let [x1, y1, x2, y2] = image.corners(class, n);
            found.rows.push([T::of(class as f64), image.score(class, n), x1, y1, x2, y2]);
            let place = if image.is_by_class { image.place(class, n) } else { n };
            found.indices.push((first + place) as i64);
        }
        found.counts.push(selected.len() as i64);
    }
}
