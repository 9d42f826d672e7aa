//! Diagonals and triangles of matrices.

use super::expect_type;
use crate::attributes::{
    DiagEmbedAttributes, DiagonalAttributes, FillDiagonalAttributes, FillDiagonalTensorAttributes,
    SumAttributes,
};
use crate::error::{Error, Result, expect_shape};
use crate::formulas::reduction::sum;
use crate::loops::movement;
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

fn diagonal_of<'v>(x: &View<'v>, offset: i64, axis1: i64, axis2: i64) -> Result<View<'v>> {
    let rank = x.dims().len();
    x.clone().diagonal(offset, axis::axis(axis1, rank)?, axis::axis(axis2, rank)?)
}

fn diagonal_of_output<'a>(
    out: &'a mut ViewMut<'_>,
    offset: i64,
    axis1: i64,
    axis2: i64,
) -> Result<ViewMut<'a>> {
    let rank = out.dims().len();
    out.reborrow().diagonal(offset, axis::axis(axis1, rank)?, axis::axis(axis2, rank)?)
}

/// Copies the diagonal of two dimensions. In the output, it replaces them as the last dimension.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if types differ.
pub fn diagonal(out: &mut ViewMut<'_>, x: &View<'_>, with: &DiagonalAttributes) -> Result<()> {
    let DiagonalAttributes { offset, axis1, axis2 } = *with;
    expect_type(out, x)?;
    let x = diagonal_of(x, offset, axis1, axis2)?;
    expect_shape(x.dims(), out.dims())?;
    movement::copy(out, &x)
}

/// Computes the gradient of [`diagonal`] with respect to `x`: zero off the diagonal.
///
/// # Errors
/// As [`diagonal`].
pub fn diagonal_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &DiagonalAttributes) -> Result<()> {
    let DiagonalAttributes { offset, axis1, axis2 } = *with;
    let mut memory = None;
    let dout = movement::apart(&[dx], dout, &mut memory)?;
    expect_type(dx, &dout)?;
    expect_shape(diagonal_of_output(dx, offset, axis1, axis2)?.dims(), dout.dims())?;
    movement::zero(dx)?;
    movement::copy(&mut diagonal_of_output(dx, offset, axis1, axis2)?, &dout)
}

/// Writes matrices with the last dimension as a diagonal, and zeros elsewhere.
///
/// # Errors
/// As [`diagonal`].
pub fn diag_embed(out: &mut ViewMut<'_>, x: &View<'_>, with: &DiagEmbedAttributes) -> Result<()> {
    let DiagEmbedAttributes { offset, dim1: axis1, dim2: axis2 } = *with;
    diagonal_grad(out, x, &DiagonalAttributes { offset, axis1, axis2 })
}

/// Writes a vector to the diagonal of a matrix, with `padding_value` elsewhere, or copies the diagonal of a
/// matrix. A tensor without dimensions counts as a vector.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Type`] if types differ.
pub fn diag(out: &mut ViewMut<'_>, x: &View<'_>, offset: i64, padding_value: f64) -> Result<()> {
    match x.dims().len() {
        0 | 1 => {
            expect_type(out, x)?;
            let x = if x.dims().is_empty() { x.clone().insert(0)? } else { x.clone() };
            let side = (x.len() as u64).checked_add(offset.unsigned_abs()).ok_or(Error::Overflow)? as usize;
            expect_shape(&[side, side], out.dims())?;
            let mut memory = None;
            let x = movement::apart(&[out], &x, &mut memory)?;
            if padding_value == 0.0 {
                movement::zero(out)?;
            } else {
                movement::fill(out, padding_value)?;
            }
            movement::copy(&mut diagonal_of_output(out, offset, 0, 1)?, &x)
        }
        2 => diagonal(out, x, &DiagonalAttributes { offset, axis1: 0, axis2: 1 }),
        rank => Err(Error::Rank { dims: rank, strides: 2 }),
    }
}

/// Computes the gradient of [`diag`] with respect to `x`.
///
/// # Errors
/// As [`diag`].
pub fn diag_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, offset: i64) -> Result<()> {
    match dx.dims().len() {
        0 => {
            let mut dx = dx.reborrow().insert(0)?;
            diagonal(&mut dx, dout, &DiagonalAttributes { offset, axis1: 0, axis2: 1 })
        }
        1 => diagonal(dx, dout, &DiagonalAttributes { offset, axis1: 0, axis2: 1 }),
        2 => diagonal_grad(dx, dout, &DiagonalAttributes { offset, axis1: 0, axis2: 1 }),
        rank => Err(Error::Rank { dims: rank, strides: 2 }),
    }
}

/// Copies the lower triangle of matrices, up to and including the `diagonal`-th diagonal above the main one,
/// or the upper triangle starting there. The rest is zero.
///
/// The operator is its own gradient.
///
/// # Errors
/// [`Error::Rank`] for less than two dimensions, [`Error::Shape`], [`Error::Type`] if types differ.
pub fn tril_triu(out: &mut ViewMut<'_>, x: &View<'_>, diagonal: i64, lower: bool) -> Result<()> {
    expect_type(out, x)?;
    expect_shape(x.dims(), out.dims())?;
    let rank = x.dims().len();
    let last = rank.checked_sub(2).ok_or(Error::Rank { dims: rank, strides: 2 })?;
    let (rows, columns) = (x.dims()[last], x.dims()[last + 1]);
    let mut memory = None;
    let x = movement::apart(&[out], x, &mut memory)?;
    for row in 0..rows {
        // The first element of the upper part.
        let first = (row as i64).saturating_add(diagonal).saturating_add(i64::from(lower));
        let first = first.clamp(0, columns as i64) as usize;
        let [kept, cleared] = if lower {
            [(0, first), (first, columns - first)]
        } else {
            [(first, columns - first), (0, first)]
        };
        let (mut target, source) = (out.reborrow().select(last, row)?, x.clone().select(last, row)?);
        movement::copy(
            &mut target.reborrow().narrow(last, kept.0, kept.1)?,
            &source.narrow(last, kept.0, kept.1)?,
        )?;
        movement::zero(&mut target.narrow(last, cleared.0, cleared.1)?)?;
    }
    Ok(())
}

/// Copies the lower triangle of matrices, as [`tril_triu`] does.
///
/// # Errors
/// As [`tril_triu`].
pub fn tril(out: &mut ViewMut<'_>, x: &View<'_>, diagonal: i64) -> Result<()> {
    tril_triu(out, x, diagonal, true)
}

/// Copies the upper triangle of matrices, as [`tril_triu`] does.
///
/// # Errors
/// As [`tril_triu`].
pub fn triu(out: &mut ViewMut<'_>, x: &View<'_>, diagonal: i64) -> Result<()> {
    tril_triu(out, x, diagonal, false)
}

/// Computes the sum of a diagonal.
///
/// # Errors
/// As [`diagonal`], and [`Error::Type`] if a type is complex.
pub fn trace(out: &mut ViewMut<'_>, x: &View<'_>, with: &DiagonalAttributes) -> Result<()> {
    let DiagonalAttributes { offset, axis1, axis2 } = *with;
    let x = diagonal_of(x, offset, axis1, axis2)?;
    sum(out, &x, &SumAttributes { axis: &[-1], keep_dim: false, reduce_all: false })
}

/// Computes the gradient of [`trace`] with respect to `x`.
///
/// # Errors
/// As [`trace`].
pub fn trace_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &DiagonalAttributes) -> Result<()> {
    let DiagonalAttributes { offset, axis1, axis2 } = *with;
    let dims = diagonal_of_output(dx, offset, axis1, axis2)?.dims().to_vec();
    expect_shape(&dims[..dims.len() - 1], dout.dims())?;
    let dout = dout.clone().append_dimensions(1).expand(&dims)?;
    diagonal_grad(dx, &dout, &DiagonalAttributes { offset, axis1, axis2 })
}

/// Writes a matrix with ones on the diagonal and zeros elsewhere.
///
/// # Errors
/// [`Error::Rank`], [`Error::Type`] if elements are complex.
pub fn eye(out: &mut ViewMut<'_>) -> Result<()> {
    if out.dims().len() != 2 {
        return Err(Error::Rank { dims: out.dims().len(), strides: 2 });
    }
    movement::zero(out)?;
    movement::fill(&mut diagonal_of_output(out, 0, 0, 1)?, 1.0)
}

/// Copies `x` with a value on the diagonal of all its dimensions, starting at the `offset`-th element of the
/// first row.
///
/// The dimensions of a tensor with more than two must be equal. With `wrap`, the diagonal of a tall matrix
/// starts again one row after each square.
///
/// # Errors
/// [`Error::Rank`] for less than two dimensions, [`Error::Shape`], [`Error::Type`] if types differ or are complex.
pub fn fill_diagonal(out: &mut ViewMut<'_>, x: &View<'_>, with: &FillDiagonalAttributes) -> Result<()> {
    let FillDiagonalAttributes { value, offset, wrap } = *with;
    expect_type(out, x)?;
    expect_shape(x.dims(), out.dims())?;
    let dims = x.dims().to_vec();
    let rank = dims.len();
    if rank < 2 {
        return Err(Error::Rank { dims: rank, strides: 2 });
    }
    movement::copy(out, x)?;
    if rank > 2 {
        if dims.iter().any(|&dim| dim != dims[0]) {
            return Err(Error::Shape { expected: vec![dims[0]; rank], actual: dims });
        }
        for index in (0..dims[0] as i64).filter(|index| (0..dims[0] as i64).contains(&(index + offset))) {
            let mut element = out.reborrow();
            for _ in 0..rank - 1 {
                element = element.select(0, index as usize)?;
            }
            movement::fill(&mut element.select(0, (index + offset) as usize)?, value)?;
        }
        return Ok(());
    }
    let (rows, columns) = (dims[0], dims[1]);
    let mut start = 0;
    while start < rows {
        let square = rows - start;
        let part = out.reborrow().narrow(0, start, square)?;
        movement::fill(&mut part.diagonal(offset, 0, 1)?, value)?;
        if !wrap || columns == 0 {
            break;
        }
        start += columns + 1;
    }
    Ok(())
}

/// Copies `x` with the elements of `y` on the diagonal of two dimensions.
///
/// `y` may have additional leading dimensions of length one.
///
/// # Errors
/// As [`diagonal`].
pub fn fill_diagonal_tensor(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    with: &FillDiagonalTensorAttributes,
) -> Result<()> {
    let FillDiagonalTensorAttributes { offset, dim1: axis1, dim2: axis2 } = *with;
    expect_type(out, x)?;
    expect_type(out, y)?;
    expect_shape(x.dims(), out.dims())?;
    let dims = diagonal_of_output(out, offset, axis1, axis2)?.dims().to_vec();
    let y = y.clone().drop_leading_ones(dims.len());
    expect_shape(&dims, y.dims())?;
    let mut memory = None;
    let y = movement::apart(&[out], &y, &mut memory)?;
    movement::copy(out, x)?;
    movement::copy(&mut diagonal_of_output(out, offset, axis1, axis2)?, &y)
}

/// Computes the gradient of [`fill_diagonal`] with respect to `x`: zero on the diagonal.
///
/// # Errors
/// As [`fill_diagonal`].
pub fn fill_diagonal_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, offset: i64, wrap: bool) -> Result<()> {
    fill_diagonal(dx, dout, &FillDiagonalAttributes { value: 0.0, offset, wrap })
}

/// Computes the gradient of [`fill_diagonal_tensor`] with respect to `x`: zero on the diagonal.
///
/// # Errors
/// As [`diagonal`].
pub fn fill_diagonal_tensor_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    with: &FillDiagonalTensorAttributes,
) -> Result<()> {
    let FillDiagonalTensorAttributes { offset, dim1: axis1, dim2: axis2 } = *with;
    expect_type(dx, dout)?;
    expect_shape(dout.dims(), dx.dims())?;
    movement::copy(dx, dout)?;
    movement::zero(&mut diagonal_of_output(dx, offset, axis1, axis2)?)
}
