//! Paths through sequences: beams, tags, alignments and edits.

mod beams;
mod edits;
mod tags;
mod transducer;

pub use beams::gather_tree;
pub use edits::{edit_count_shape, edit_distance, edit_distance_shape};
pub use tags::{viterbi_decode, viterbi_path_shape, viterbi_scores_shape};
pub use transducer::{rnnt_gradient_shape, rnnt_loss, rnnt_loss_grad, rnnt_loss_shape};

use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::integers;
use crate::tensor::View;

/// Reads the length of each sequence, which is at most `longest`.
fn lengths(view: &View<'_>, batch: usize, longest: usize) -> Result<Vec<usize>> {
    if view.len() != batch {
        expect_shape(&[batch], view.dims())?;
    }
    let length = |index: i64| usize::try_from(index).ok().filter(|&length| length <= longest);
    let found = integers(view)?.into_iter();
    found.map(|index| length(index).ok_or(Error::Index { index, len: longest + 1 })).collect()
}
