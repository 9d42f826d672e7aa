//! Sampling and boxes in images.
//!
//! Images are `[batch, channels, height, width]`. A box is given by its corners `x1, y1, x2, y2`.

mod grid_sample;
mod nms;
mod roi_align;

pub use grid_sample::{grid_sample, grid_sample_grad};
pub(crate) use nms::{by_score, suppress};
pub use nms::{nms, nms_shape};
pub(crate) use roi_align::{images_of_counts, samples_between};
pub use roi_align::{roi_align, roi_align_grad};
