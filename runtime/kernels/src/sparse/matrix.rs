//! Products of sparse and dense matrices.

use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`sparse_matmul`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Length`] if there is no start of a row.
pub fn sparse_matmul_shape(
    _values: TensorMeta<'_>,
    starts: TensorMeta<'_>,
    _columns: TensorMeta<'_>,
    y: TensorMeta<'_>,
) -> Result<Vec<usize>> {
    let (&[starts], &[_, columns]) = (starts.dims(), y.dims()) else {
        return Err(Error::Rank { dims: y.dims().len(), strides: 2 });
    };
    let rows = starts.checked_sub(1).ok_or(Error::Length { what: "starts", expected: 1, actual: 0 })?;
    Ok(vec![rows, columns])
}

/// Computes the product of a sparse matrix in compressed rows with a dense one.
///
/// Row `n` has the elements from `starts[n]` to `starts[n + 1]` of `values`, in the columns of the same elements of
/// `columns`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], [`Error::Index`] for a column or a start that does not exist,
/// and [`Error::Type`].
pub fn sparse_matmul(
    out: &mut ViewMut<'_>,
    values: &View<'_>,
    starts: &View<'_>,
    columns: &View<'_>,
    y: &View<'_>,
) -> Result<()> {
    let shape = sparse_matmul_shape(values.meta(), starts.meta(), columns.meta(), y.meta())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(values.dims(), columns.dims())?;
    let (len, inner, width) = (values.len(), y.dims()[0], shape[1]);
    let index = |index: i64, len: usize| {
        usize::try_from(index).ok().filter(|&place| place < len).ok_or(Error::Index { index, len })
    };
    let starts: Vec<usize> =
        integers(starts)?.into_iter().map(|start| index(start, len + 1)).collect::<Result<_>>()?;
    let columns: Vec<usize> =
        integers(columns)?.into_iter().map(|column| index(column, inner)).collect::<Result<_>>()?;
    if let Some(pair) = starts.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(Error::Index { index: pair[0] as i64, len: pair[1] + 1 });
    }
    expect_length("starts", len, starts.last().copied().unwrap_or(0))?;
    with_float!(values.dtype(), T => {
        with_slices::<T, 1, 2>([out.reborrow()], [values, y], |[out], [values, y]| {
            out.fill(0.0);
            for (row, pair) in starts.windows(2).enumerate() {
                let out = &mut out[row * width..][..width];
                for n in pair[0]..pair[1] {
                    let other = &y[columns[n] * width..][..width];
                    out.iter_mut().zip(other).for_each(|(out, other)| *out += values[n] * other);
                }
            }
            Ok(())
        })
    })
}
