//! The rules of sequences: functions that compute shapes, dimensions and numbers, and views of tensors.
//!
//! A step such as `row = rules::reduced(x, [axis])` calls one of them.

use super::live::{Live, wrong};
use crate::{Layout, TensorRef, broadcast, contiguous_strides};
use tenon::device::{Error, Result};

/// Calls a rule by its name.
pub(super) fn call<'v>(name: &str, values: &[Live<'v>]) -> Result<Live<'v>> {
    Ok(match (name, values) {
        ("reduced", [of, along]) => Live::Shape(reduced(of.shape()?, along.integers()?)?),
        ("axes", [along, all]) => Live::Integers(axes(along.integers()?, all.truth()?)),
        ("count", [of, along]) => Live::Number(count(of.shape()?, along.integers()?)?),
        ("axes_from", [of, first]) => Live::Integers(axes_from(of.shape()?, first.integer()?)?),
        ("trailing", [of, first]) => Live::Shape(trailing(of.shape()?, first.integer()?)?),
        ("weight", [weight, absent, whole, first]) => match weight {
            Live::Absent => Live::Number(absent.number()?),
            _ => {
                let dims = trailing(whole.shape()?, first.integer()?)?;
                Live::Tensor(reshaped(weight.tensor()?, &dims)?)
            }
        },
        ("reshaped", [of, like]) => Live::Tensor(reshaped(of.tensor()?, like.shape()?)?),
        ("scalar", [of]) => Live::Tensor(reshaped(of.tensor()?, &[])?),
        ("stacked", [of]) => Live::Tensor(inserted(of.tensor()?, 0)?),
        ("repeated_axes", [whole, part]) => Live::Integers(repeated_axes(whole.shape()?, part.shape()?)?),
        ("channels", [of, images, format]) => {
            Live::Tensor(channels(of.tensor()?, images.shape()?, format.text()?)?)
        }
        ("rows", [of]) => Live::Tensor(rows(of.tensor()?)?),
        ("columns", [of]) => Live::Tensor(columns(of.tensor()?)?),
        ("product_of", [of, left, right]) => {
            Live::Tensor(product_of(of.tensor()?, left.tensor()?, right.tensor()?)?)
        }
        ("column_of", [of, operand]) => Live::Tensor(column_of(of.tensor()?, operand.tensor()?)?),
        ("is_swapped", [of, flag]) => Live::Truth(flag.truth()? && !is_vector(of.tensor()?)),
        ("either", [condition, then, otherwise]) => {
            if condition.truth()? {
                then.clone()
            } else {
                otherwise.clone()
            }
        }
        ("and", [one, other]) => Live::Truth(one.truth()? && other.truth()?),
        ("or_not", [one, other]) => Live::Truth(one.truth()? || !other.truth()?),
        ("product", [left, right, transpose_left, transpose_right]) => Live::Shape(product(
            left.shape()?,
            right.shape()?,
            transpose_left.truth()?,
            transpose_right.truth()?,
        )?),
        _ => return Err(wrong(&format!("there is no rule `{name}` of {} values", values.len()))),
    })
}

/// Returns the shape of a tensor with the length one for some dimensions, or for all if none are given.
fn reduced(dims: &[usize], axes: &[i64]) -> Result<Vec<usize>> {
    let mut dims = dims.to_vec();
    for axis in positions(dims.len(), axes)? {
        dims[axis] = 1;
    }
    Ok(dims)
}

/// Returns the dimensions of a reduction; none stand for all.
fn axes(axis: &[i64], reduce_all: bool) -> Vec<i64> {
    if reduce_all { Vec::new() } else { axis.to_vec() }
}

/// Returns a tensor with a number for each channel in a shape that is broadcast to images.
fn channels<'v>(of: &TensorRef<'v>, images: &[usize], format: &str) -> Result<TensorRef<'v>> {
    if format.ends_with('C') {
        return Ok(of.clone());
    }
    let space = images.len().saturating_sub(2);
    reshaped(of, &[of.dims(), &vec![1; space]].concat())
}

/// Returns the number of elements along some dimensions, or along all if none are given.
fn count(dims: &[usize], axes: &[i64]) -> Result<f64> {
    Ok(positions(dims.len(), axes)?.into_iter().map(|axis| dims[axis]).product::<usize>() as f64)
}

/// Returns the dimensions from one on.
fn axes_from(dims: &[usize], first: i64) -> Result<Vec<i64>> {
    let rank = dims.len();
    let first = start(rank, first)?;
    if first == rank {
        return Err(Error::unsupported("a composed operator over no dimensions"));
    }
    Ok((first as i64..rank as i64).collect())
}

/// Returns the lengths of the dimensions from one on.
fn trailing(dims: &[usize], first: i64) -> Result<Vec<usize>> {
    Ok(dims[start(dims.len(), first)?..].to_vec())
}

/// Returns a tensor with a shape and the same elements in row-major order.
fn reshaped<'v>(tensor: &TensorRef<'v>, dims: &[usize]) -> Result<TensorRef<'v>> {
    if tensor.dims() == dims {
        return Ok(tensor.clone());
    }
    if !tensor.is_contiguous() {
        return Err(Error::unsupported("a composed operator with gaps between elements"));
    }
    if tensor.len() != dims.iter().product::<usize>() {
        let message = format!("the shape {:?} is given, but {dims:?} is needed", tensor.dims());
        return Err(Error::invalid(message));
    }
    view(tensor, dims, &contiguous_strides(dims)?)
}

/// Returns the dimensions of a tensor, with a further one before the others, along which a part of it is
/// repeated. The first one is always among them.
fn repeated_axes(whole: &[usize], part: &[usize]) -> Result<Vec<i64>> {
    let missing = whole.len().checked_sub(part.len());
    let missing = missing.filter(|_| broadcast(whole, part).is_ok_and(|dims| dims == whole));
    let Some(missing) = missing else {
        return Err(Error::invalid(format!("the shape {part:?} cannot be broadcast to {whole:?}")));
    };
    let is_repeated = |axis: usize| match axis.checked_sub(missing) {
        Some(own) => part[own] == 1 && whole[axis] != 1,
        None => true,
    };
    let repeated = (0..whole.len()).filter(|axis| is_repeated(*axis)).map(|axis| axis as i64 + 1);
    Ok(std::iter::once(0).chain(repeated).collect())
}

/// Returns the left operand of a product as matrices: a vector is a row.
fn rows<'v>(tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    if is_vector(tensor) { inserted(tensor, 0) } else { Ok(tensor.clone()) }
}

/// Returns the right operand of a product as matrices: a vector is a column.
fn columns<'v>(tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    if is_vector(tensor) { inserted(tensor, 1) } else { Ok(tensor.clone()) }
}

/// Returns a product as matrices, which has no dimension for an operand that is a vector.
fn product_of<'v>(
    product: &TensorRef<'v>,
    left: &TensorRef<'_>,
    right: &TensorRef<'_>,
) -> Result<TensorRef<'v>> {
    let rank = product.dims().len();
    // A product of two vectors may have one dimension instead of none.
    let product = if is_vector(left) && is_vector(right) { reshaped(product, &[])? } else { product.clone() };
    let with_row = match (is_vector(left), is_vector(right)) {
        (false, _) => product,
        (true, true) => inserted(&product, 0)?,
        (true, false) => inserted(&product, rank.saturating_sub(1))?,
    };
    if is_vector(right) { inserted(&with_row, with_row.dims().len()) } else { Ok(with_row) }
}

/// Returns columns without their dimension of length one, if the operand was a vector.
fn column_of<'v>(columns: &TensorRef<'v>, operand: &TensorRef<'_>) -> Result<TensorRef<'v>> {
    let rank = columns.dims().len();
    if is_vector(operand) && columns.dims().last() == Some(&1) {
        view(columns, &columns.dims()[..rank - 1], &columns.strides()[..rank - 1])
    } else {
        Ok(columns.clone())
    }
}

/// Returns the shape of a product of matrices.
fn product(
    left: &[usize],
    right: &[usize],
    transpose_left: bool,
    transpose_right: bool,
) -> Result<Vec<usize>> {
    let (Some((left_batch, [rows, left_columns])), Some((right_batch, [right_rows, columns]))) =
        (left.split_last_chunk::<2>(), right.split_last_chunk::<2>())
    else {
        return Err(Error::invalid("a product of matrices needs operands of two dimensions"));
    };
    let mut dims = broadcast(left_batch, right_batch)?;
    dims.push(if transpose_left { *left_columns } else { *rows });
    dims.push(if transpose_right { *right_rows } else { *columns });
    Ok(dims)
}

fn is_vector(tensor: &TensorRef<'_>) -> bool {
    tensor.dims().len() == 1
}

/// Returns a tensor with a dimension of length one at a position.
fn inserted<'v>(tensor: &TensorRef<'v>, position: usize) -> Result<TensorRef<'v>> {
    let (mut dims, mut strides) = (tensor.dims().to_vec(), tensor.strides().to_vec());
    dims.insert(position, 1);
    let stride = if position == 0 { tensor.len().max(1) as isize } else { 1 };
    strides.insert(position, stride);
    view(tensor, &dims, &strides)
}

fn view<'v>(tensor: &TensorRef<'v>, dims: &[usize], strides: &[isize]) -> Result<TensorRef<'v>> {
    // SAFETY: the same elements, which are memory of the device for as long.
    unsafe { TensorRef::new(tensor.first(), tensor.data_type(), Layout::new(dims, strides)?) }
}

/// Returns dimensions as positions: negative ones count from the end, and none stand for all.
fn positions(rank: usize, axes: &[i64]) -> Result<Vec<usize>> {
    if axes.is_empty() {
        return Ok((0..rank).collect());
    }
    // Hosts name the dimension 0 or -1 of a tensor that has none.
    axes.iter()
        .filter(|axis| rank > 0 || ![0, -1].contains(*axis))
        .map(|axis| position(rank, *axis))
        .collect()
}

fn position(rank: usize, axis: i64) -> Result<usize> {
    let own = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(own).ok().filter(|own| *own < rank).ok_or_else(|| {
        Error::invalid(format!("there is no dimension {axis} in a tensor of {rank} dimensions"))
    })
}

/// Returns the position of a dimension that others begin with, which may be behind the last one.
fn start(rank: usize, first: i64) -> Result<usize> {
    if first == rank as i64 { Ok(rank) } else { position(rank, first) }
}

#[cfg(test)]
mod tests;
