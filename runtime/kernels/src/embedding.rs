//! Embedding: looks up rows of a table by their indices. Includes the gradient of the table.

use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Reader;
use crate::loops::slices::{Slot, integers, with_slices};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Writes, for each element of `x`, the row of `weight` with that index. The row `padding_idx` is read as
/// zeros; -1 means no such row.
///
/// The output has the shape of `x`, followed by the length of a row as the last dimension.
///
/// # Errors
/// [`Error::Shape`], [`Error::Rank`] unless `weight` has two dimensions, [`Error::Index`] for an index out of
/// range, and
/// [`Error::Type`] unless `x` has an integer type.
pub fn embedding(out: &mut ViewMut<'_>, x: &View<'_>, weight: &View<'_>, padding_idx: i64) -> Result<()> {
    let (numbers, width) = rows(out.dims(), x, weight.dims())?;
    with_number!(weight.dtype(), T => {
        // Rows are read one by one, because the table is usually much larger than the rows that are used.
        let copy = if out.shares_memory(weight) { T::load(weight)? } else { Vec::new() };
        let table = if copy.is_empty() { weight.clone() } else { View::of_slice(&copy, weight.dims())? };
        with_slices::<T, 1, 0>([out.reborrow()], [], |[out], []| {
            if width == 0 {
                return Ok(());
            }
            // The rows, if they are contiguous and have the compute type.
            let rows = table.slice::<T>();
            for (out, &number) in out.chunks_exact_mut(width).zip(&numbers) {
                if number as i64 == padding_idx {
                    out.fill(T::of(0.0));
                } else if let Some(rows) = rows {
                    out.copy_from_slice(&rows[number * width..][..width]);
                } else {
                    Reader::new(&table.part(number)?, &[width])?.read(out);
                }
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`embedding`] with respect to its table: the sum of `dout` for each row, zero for the row
/// `padding_idx`.
///
/// # Errors
/// As [`embedding`].
pub fn embedding_grad(
    dweight: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    padding_idx: i64,
) -> Result<()> {
    let (numbers, width) = rows(dout.dims(), x, dweight.dims())?;
    with_number!(dweight.dtype(), T => with_slices::<T, 1, 1>([dweight.reborrow()], [dout], |[dweight], [dout]| {
        dweight.fill(T::of(0.0));
        if width == 0 {
            return Ok(());
        }
        for (dout, &number) in dout.chunks_exact(width).zip(&numbers) {
            if number as i64 != padding_idx {
                let row = &mut dweight[number * width..][..width];
                row.iter_mut().zip(dout).for_each(|(sum, &dout)| *sum += dout);
            }
        }
        Ok(())
    }))
}

/// Returns the row indices in `x` and the length of a row.
fn rows(out: &[usize], x: &View<'_>, weight: &[usize]) -> Result<(Vec<usize>, usize)> {
    let &[count, width] = weight else { return Err(Error::Rank { dims: weight.len(), strides: 2 }) };
    expect_shape(&[x.dims(), &[width]].concat(), out)?;
    if x.dtype().is_float() {
        return Err(Error::Type { dtype: x.dtype() });
    }
    let row = |index: i64| {
        let row = usize::try_from(index).ok().filter(|&row| row < count);
        row.ok_or(Error::Index { index, len: count })
    };
    let numbers: Result<Vec<usize>> = integers(x)?.into_iter().map(row).collect();
    Ok((numbers?, width))
}
