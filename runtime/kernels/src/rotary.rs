//! Rotary position embedding: pairs of elements are rotated by angles that depend on their position.

use crate::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::float::Float;
use crate::slices::{integers, with_slices};
use crate::tensor::{View, ViewMut};

/// Rotates the pairs of each row.
///
/// `x` is `[batch, length, heads, width]`. `sin` and `cos` have a row of `width` elements for each position, whatever
/// dimensions of length one there are. The position of a row is its index along the length, or in `position_ids`,
/// `[batch, length]`. Pairs are neighbours with `interleaved`, which PaddlePaddle calls `use_neox_rotary_style`, else elements
/// of the first and the second half: `out[a] = x[a] * cos[a] - x[b] * sin[a]`, `out[b] = x[b] * cos[b] + x[a] * sin[b]`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] for an odd width or tables of another width,
/// [`Error::Index`] for a position without a row, and [`Error::Type`].
pub fn rotary_embedding(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    sin: &View<'_>,
    cos: &View<'_>,
    position_ids: Option<&View<'_>>,
    interleaved: bool,
) -> Result<()> {
    rotate(out, x, [sin, cos], position_ids, interleaved, false)
}

/// Computes the gradient of [`rotary_embedding`] with respect to `x`.
///
/// # Errors
/// As [`rotary_embedding`].
pub fn rotary_embedding_grad(
    dx: &mut ViewMut<'_>,
    sin: &View<'_>,
    cos: &View<'_>,
    position_ids: Option<&View<'_>>,
    dout: &View<'_>,
    interleaved: bool,
) -> Result<()> {
    rotate(dx, dout, [sin, cos], position_ids, interleaved, true)
}

fn rotate(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    tables: [&View<'_>; 2],
    position_ids: Option<&View<'_>>,
    interleaved: bool,
    back: bool,
) -> Result<()> {
    let &[batch, length, heads, width] = x.dims() else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 4 });
    };
    expect_shape(x.dims(), out.dims())?;
    if !width.is_multiple_of(2) {
        return Err(Error::Length { what: "x", expected: width + 1, actual: width });
    }
    for table in tables {
        crate::expect_length("sin", width, table.dims().last().copied().unwrap_or(1))?;
        crate::expect_length("cos", tables[0].len(), table.len())?;
    }
    let count = tables[0].len() / width.max(1);
    let position = |index: i64| {
        let place = usize::try_from(index).ok().filter(|&place| place < count);
        place.ok_or(Error::Index { index, len: count })
    };
    let positions: Vec<usize> = match position_ids {
        None => (0..batch * length).map(|row| position((row % length) as i64)).collect::<Result<_>>()?,
        Some(ids) => {
            expect_shape(&[batch, length], ids.dims())?;
            let ids = integers(ids)?;
            ids.into_iter().map(position).collect::<Result<_>>()?
        }
    };
    if x.is_empty() {
        return Ok(());
    }
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 3>([out.reborrow()], [x, tables[0], tables[1]], |[out], [x, sin, cos]| {
            let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
            for (row, (out, x)) in rows.enumerate() {
                let start = positions[row / heads] * width;
                let table = start..start + width;
                rotate_row(out, x, [&sin[table.clone()], &cos[table]], interleaved, back);
            }
            Ok(())
        })
    })
}

fn rotate_row<T: Float>(out: &mut [T], x: &[T], [sin, cos]: [&[T]; 2], interleaved: bool, back: bool) {
    let half = x.len() / 2;
    for n in 0..half {
        let [a, b] = if interleaved { [2 * n, 2 * n + 1] } else { [n, n + half] };
        // The transposed matrix of the two equations.
        let [to_a, to_b] = if back { [sin[b], -sin[a]] } else { [-sin[a], sin[b]] };
        (out[a], out[b]) = (x[a] * cos[a] + x[b] * to_a, x[b] * cos[b] + x[a] * to_b);
    }
}
