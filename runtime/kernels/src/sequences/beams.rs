//! The tokens of the beams of a search.

use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, store_integers};
use crate::tensor::{View, ViewMut};

/// Follows the parents of each beam back from the last step, and writes the tokens on the way. Both inputs are `[steps,
/// batch, beams]`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a parent that is no beam, and [`Error::Type`] unless the
/// tensors are integers.
pub fn gather_tree(out: &mut ViewMut<'_>, ids: &View<'_>, parents: &View<'_>) -> Result<()> {
    let &[steps, batch, beams] = ids.dims() else {
        return Err(Error::Rank { dims: ids.dims().len(), strides: 3 });
    };
    expect_shape(ids.dims(), parents.dims())?;
    expect_shape(ids.dims(), out.dims())?;
    let (ids, parents) = (integers(ids)?, integers(parents)?);
    let mut tokens = vec![0; ids.len()];
    for image in 0..batch {
        for beam in 0..beams {
            let mut from = beam;
            for step in (0..steps).rev() {
                let row = (step * batch + image) * beams;
                tokens[row + beam] = ids[row + from];
                // The first step has no parents.
                if step > 0 {
                    let index = parents[row + from];
                    let parent = usize::try_from(index).ok().filter(|&parent| parent < beams);
                    from = parent.ok_or(Error::Index { index, len: beams })?;
                }
            }
        }
    }
    store_integers(out, &tokens)
}
