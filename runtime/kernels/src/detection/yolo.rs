//! The boxes and scores of YOLOv3 (Redmon and Farhadi, 2018).

use super::ranked;
use crate::attributes::YoloBoxAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, expect_length, expect_shape};
use crate::images::size;
use crate::loops::slices::{integers, with_slices};
use crate::numeric::{Floating, Numeric};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the boxes of [`yolo_box`].
///
/// # Errors
/// As [`yolo_box`].
pub fn yolo_boxes_shape(
    x: TensorMeta<'_>,
    _img_size: TensorMeta<'_>,
    with: &YoloBoxAttributes<'_>,
) -> Result<Vec<usize>> {
    let YoloBoxAttributes { anchors, .. } = *with;
    let [batch, _, height, width] = ranked(x.dims())?;
    Ok(vec![batch, anchors.len() / 2 * height * width, 4])
}

/// Computes the shape of the scores of [`yolo_box`].
///
/// # Errors
/// As [`yolo_box`].
pub fn yolo_scores_shape(
    x: TensorMeta<'_>,
    _img_size: TensorMeta<'_>,
    with: &YoloBoxAttributes<'_>,
) -> Result<Vec<usize>> {
    let YoloBoxAttributes { anchors, class_num, .. } = *with;
    let [batch, _, height, width] = ranked(x.dims())?;
    Ok(vec![batch, anchors.len() / 2 * height * width, size("class_num", class_num)?])
}

/// Computes the box and the scores of each anchor at each pixel. `x` is `[batch, anchors * (5 + classes), height,
/// width]`; with `iou_aware` a channel for each anchor comes first. A box whose confidence is less than `conf_thresh`
/// is zeros, and so are its scores.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] for an odd number of anchors' sizes, [`Error::Attribute`],
/// and [`Error::Type`].
pub fn yolo_box(
    boxes: &mut ViewMut<'_>,
    scores: &mut ViewMut<'_>,
    x: &View<'_>,
    img_size: &View<'_>,
    with: &YoloBoxAttributes<'_>,
) -> Result<()> {
    let YoloBoxAttributes {
        anchors,
        class_num,
        conf_thresh,
        downsample_ratio,
        clip_bbox,
        scale_x_y,
        iou_aware,
        iou_aware_factor,
    } = *with;
    let ([batch, _, height, width], classes) = (ranked(x.dims())?, size("class_num", class_num)?);
    let (sizes, rest) = anchors.as_chunks::<2>();
    expect_length("anchors", anchors.len() + rest.len(), anchors.len())?;
    let (count, pixels) = (sizes.len(), height * width);
    let channels = count * (5 + classes + usize::from(iou_aware));
    expect_shape(&[batch, channels, height, width], x.dims())?;
    expect_shape(&[batch, 2], img_size.dims())?;
    expect_shape(&[batch, count * pixels, 4], boxes.dims())?;
    expect_shape(&[batch, count * pixels, classes], scores.dims())?;
    let images = integers(img_size)?;
    let ratio = size("downsample_ratio", downsample_ratio)?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 2, 1>([boxes.reborrow(), scores.reborrow()], [x], |[boxes, scores], [x]| {
            boxes.fill(0.0);
            scores.fill(0.0);
            let (boxes, _) = boxes.as_chunks_mut::<4>();
            for (n, result) in boxes.iter_mut().enumerate() {
                let (image, anchor, pixel) = (n / (count * pixels), n / pixels % count, n % pixels);
                let start = image * channels * pixels + pixel;
                let extra = if iou_aware { count } else { 0 };
                let entry = |entry: usize| x[start + (extra + anchor * (5 + classes) + entry) * pixels];
                let mut confidence = entry(4).sigmoid();
                if iou_aware {
                    let overlap = x[start + anchor * pixels].sigmoid();
                    confidence = Numeric::pow(confidence, (1.0 - iou_aware_factor) as T)
                        * Numeric::pow(overlap, iou_aware_factor as T);
                }
                if confidence < conf_thresh as T {
                    continue;
                }
                let image = [images[image * 2 + 1] as T, images[image * 2] as T];
                let place = Place { cell: [pixel % width, pixel / width], grid: [width, height], ratio, image };
                let [dx, dy, dw, dh] = [0, 1, 2, 3].map(entry);
                *result = place.corners([dx, dy], [dw, dh], sizes[anchor], scale_x_y as T, clip_bbox);
                for class in 0..classes {
                    scores[n * classes + class] = confidence * entry(5 + class).sigmoid();
                }
            }
            Ok(())
        })
    })
}

/// A pixel of the output. Pairs are horizontal and vertical.
struct Place<T> {
    cell: [usize; 2],
    grid: [usize; 2],
    /// The size of a pixel of the output in the input of the network.
    ratio: usize,
    image: [T; 2],
}

impl<T: Float> Place<T> {
    fn corners(&self, center: [T; 2], size: [T; 2], anchor: [i64; 2], scale: T, clip: bool) -> [T; 4] {
        let number = |number: usize| T::of(number as f64);
        let bias = T::of(-0.5) * (scale - T::ONE);
        let center: [T; 2] = std::array::from_fn(|n| {
            (number(self.cell[n]) + center[n].sigmoid() * scale + bias) * self.image[n] / number(self.grid[n])
        });
        let half: [T; 2] = std::array::from_fn(|n| {
            let input = number(self.ratio * self.grid[n]);
            size[n].exp() * T::of(anchor[n] as f64) * self.image[n] / input * T::of(0.5)
        });
        let mut corners =
            [center[0] - half[0], center[1] - half[1], center[0] + half[0], center[1] + half[1]];
        if clip {
            for n in 0..2 {
                corners[n] = corners[n].max(T::ZERO);
                corners[n + 2] = corners[n + 2].min(self.image[n] - T::ONE);
            }
        }
        corners
    }
}
