//! Rows selected from several tensors.

use super::expect_type;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::loops::slices::integers;
use crate::tensor::{View, ViewMut};

/// Reads, for each row of the output, the index of its tensor.
fn choices(ids: &View<'_>, rows: usize, count: usize) -> Result<Vec<usize>> {
    let ids = integers(ids)?;
    crate::expect_length("ids", rows, ids.len())?;
    let choice = |id: i64| usize::try_from(id).ok().filter(|&id| id < count);
    ids.iter().map(|&id| choice(id).ok_or(Error::Index { index: id, len: count })).collect()
}

fn rows_of(dims: &[usize]) -> Result<usize> {
    dims.first().copied().ok_or(Error::Rank { dims: 0, strides: 1 })
}

/// Copies each row from the tensor whose index is in `ids`.
///
/// # Errors
/// [`Error::Shape`], [`Error::Rank`], [`Error::Length`] unless there is an index for each row,
/// [`Error::Index`] for an index
/// without a tensor, [`Error::Type`] if types differ.
pub fn multiplex(out: &mut ViewMut<'_>, xs: &[View<'_>], ids: &View<'_>) -> Result<()> {
    for x in xs {
        expect_type(out, x)?;
        expect_shape(out.dims(), x.dims())?;
    }
    for (row, id) in choices(ids, rows_of(out.dims())?, xs.len())?.into_iter().enumerate() {
        movement::copy(&mut out.reborrow().select(0, row)?, &xs[id].clone().select(0, row)?)?;
    }
    Ok(())
}

/// Computes the gradients of [`multiplex`] with respect to each tensor: zero in the rows that are not copied
/// from it.
///
/// # Errors
/// As [`multiplex`].
pub fn multiplex_grad(dxs: &mut [Option<ViewMut<'_>>], ids: &View<'_>, dout: &View<'_>) -> Result<()> {
    let ids = choices(ids, rows_of(dout.dims())?, dxs.len())?;
    for (own, dx) in dxs.iter_mut().enumerate() {
        let Some(dx) = dx else { continue };
        expect_type(dx, dout)?;
        expect_shape(dout.dims(), dx.dims())?;
        movement::zero(dx)?;
        for row in (0..ids.len()).filter(|&row| ids[row] == own) {
            movement::copy(&mut dx.reborrow().select(0, row)?, &dout.clone().select(0, row)?)?;
        }
    }
    Ok(())
}
