//! Regions, masks, shifts and filters of images.
//!
//! Images are `[batch, channels, height, width]`. A box is given by its corners `x1, y1, x2, y2`.

mod carafe;
mod columns;
mod correlation;
mod overlaps;
mod psa_mask;
mod roi_pool;
mod rotated_filters;
mod shift;
mod upfirdn;

pub use carafe::{carafe, carafe_grad, carafe_shape};
pub use columns::{masked_col2im, masked_im2col, masked_im2col_shape};
pub use correlation::{correlation, correlation_grad, correlation_shape};
pub use overlaps::{box_overlaps, box_overlaps_shape};
pub use psa_mask::{psa_mask, psa_mask_grad, psa_mask_shape};
pub(crate) use roi_pool::{image_of, top};
pub use roi_pool::{roi_pool, roi_pool_grad, roi_pool_shape};
pub use rotated_filters::{rotate_filters, rotate_filters_grad, rotate_filters_shape};
pub use shift::shift_frames;
pub use upfirdn::{upfirdn, upfirdn_shape};

use crate::error::{Error, Result};

/// Returns the four dimensions of a tensor.
pub(crate) fn image(dims: &[usize]) -> Result<[usize; 4]> {
    dims.try_into().map_err(|_| Error::Rank { dims: dims.len(), strides: 4 })
}

/// Converts the value of an attribute to a size.
pub(crate) fn size(name: &'static str, value: i64) -> Result<usize> {
    let size = usize::try_from(value).ok().filter(|&size| size > 0);
    size.ok_or_else(|| Error::Attribute { name, value: value.to_string() })
}
