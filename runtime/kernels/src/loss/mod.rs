//! Losses that are not elementwise.

mod cross_entropy;
mod ctc;
mod entropy;
mod focal;
mod likelihood;
mod smoothing;

pub use cross_entropy::{cross_entropy_with_softmax, cross_entropy_with_softmax_grad};
pub use ctc::{
    ctc_gradient_shape, ctc_loss, ctc_loss_grad, ctc_loss_of_logits, ctc_loss_of_logits_grad,
    ctc_loss_of_logits_shape,
};
pub use entropy::{sigmoid_cross_entropy_with_logits, sigmoid_cross_entropy_with_logits_grad};
pub use focal::{softmax_focal_loss, softmax_focal_loss_grad, softmax_focal_loss_shape};
pub use likelihood::{nll_loss, nll_loss_grad};
pub use smoothing::label_smooth;

use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::loops::slices::integers;
use crate::tensor::View;

/// Reads the class of each label, `None` for an ignored label.
///
/// # Errors
/// [`Error::Index`] if a label is neither a class nor the ignored label, [`Error::Type`] if labels are not
/// integers.
fn classes(label: &View<'_>, count: usize, ignore_index: i64) -> Result<Vec<Option<usize>>> {
    if label.dtype().is_float() || label.dtype() == DType::Bool {
        return Err(Error::Type { dtype: label.dtype() });
    }
    let class = |index: i64| match usize::try_from(index) {
        _ if index == ignore_index => Ok(None),
        Ok(class) if class < count => Ok(Some(class)),
        _ => Err(Error::Index { index, len: count }),
    };
    integers(label)?.into_iter().map(class).collect()
}
