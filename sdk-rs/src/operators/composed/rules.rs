//! The rules of sequences: functions that compute shapes, dimensions and numbers, and views of tensors.
//!
//! A step such as `row = rules::reduced(x, [axis])` calls one of them, with the operators of the device first. Results of
//! earlier steps are passed by reference.

use super::{Composed, Operand, Shaped};
use crate::device::{Error, Result};
use crate::operators::{Layout, TensorRef, broadcast, contiguous_strides};

/// Returns the shape of a tensor with the length one for some dimensions, or for all if none are given.
pub(in crate::operators) fn reduced(
    _: &Composed<'_>,
    tensor: &impl Shaped,
    axes: &[i64],
) -> Result<Vec<usize>> {
    let mut dims = tensor.shape().to_vec();
    for axis in positions(dims.len(), axes)? {
        dims[axis] = 1;
    }
    Ok(dims)
}

/// Returns the dimensions of a reduction; none stand for all.
pub(in crate::operators) fn axes(_: &Composed<'_>, axis: &[i64], reduce_all: bool) -> Result<Vec<i64>> {
    Ok(if reduce_all { Vec::new() } else { axis.to_vec() })
}

/// Returns the number of elements along some dimensions, or along all if none are given.
pub(in crate::operators) fn count(_: &Composed<'_>, tensor: &impl Shaped, axes: &[i64]) -> Result<f64> {
    let dims = tensor.shape();
    Ok(positions(dims.len(), axes)?.into_iter().map(|axis| dims[axis]).product::<usize>() as f64)
}

/// Returns the dimensions from one on.
pub(in crate::operators) fn axes_from(
    _: &Composed<'_>,
    tensor: &impl Shaped,
    first: i64,
) -> Result<Vec<i64>> {
    let rank = tensor.shape().len();
    let first = start(rank, first)?;
    match first == rank {
        true => Err(Error::unsupported("a composed operator over no dimensions")),
        false => Ok((first as i64..rank as i64).collect()),
    }
}

/// Returns the lengths of the dimensions from one on.
pub(in crate::operators) fn trailing(
    _: &Composed<'_>,
    tensor: &impl Shaped,
    first: i64,
) -> Result<Vec<usize>> {
    let dims = tensor.shape();
    Ok(dims[start(dims.len(), first)?..].to_vec())
}

/// Returns a tensor with an element for each one of the dimensions of `whole` from one on, or a number if it is absent.
pub(in crate::operators) fn weight<'v>(
    composed: &Composed<'_>,
    tensor: Option<&TensorRef<'v>>,
    absent: i32,
    whole: &impl Shaped,
    first: i64,
) -> Result<Operand<'v>> {
    match tensor {
        None => Ok(Operand::Number(absent.into())),
        Some(tensor) => {
            let dims = trailing(composed, whole, first)?;
            reshaped(composed, tensor, &dims).map(Operand::Tensor)
        }
    }
}

/// Returns a tensor with the shape of another one and the same elements in row-major order.
pub(in crate::operators) fn reshaped<'v>(
    _: &Composed<'_>,
    tensor: &TensorRef<'v>,
    like: &impl Shaped,
) -> Result<TensorRef<'v>> {
    let dims = like.shape();
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

/// Returns the only element of a tensor, without dimensions.
pub(in crate::operators) fn scalar<'v>(
    composed: &Composed<'_>,
    tensor: &TensorRef<'v>,
) -> Result<TensorRef<'v>> {
    reshaped(composed, tensor, &Vec::new())
}

/// Returns a tensor with a dimension of length one before the others.
pub(in crate::operators) fn stacked<'v>(_: &Composed<'_>, tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    inserted(tensor, 0)
}

/// Returns the dimensions of `stacked(whole)` along which a tensor is repeated to have the shape of `whole`. The first
/// one is always among them.
pub(in crate::operators) fn repeated_axes(
    _: &Composed<'_>,
    whole: &impl Shaped,
    part: &impl Shaped,
) -> Result<Vec<i64>> {
    let (whole, part) = (whole.shape(), part.shape());
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
pub(in crate::operators) fn rows<'v>(_: &Composed<'_>, tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    if is_vector(tensor) { inserted(tensor, 0) } else { Ok(tensor.clone()) }
}

/// Returns the right operand of a product as matrices: a vector is a column.
pub(in crate::operators) fn columns<'v>(_: &Composed<'_>, tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    if is_vector(tensor) { inserted(tensor, 1) } else { Ok(tensor.clone()) }
}

/// Returns a product as matrices, which has no dimension for an operand that is a vector.
pub(in crate::operators) fn product_of<'v>(
    composed: &Composed<'_>,
    product: &TensorRef<'v>,
    left: &TensorRef<'_>,
    right: &TensorRef<'_>,
) -> Result<TensorRef<'v>> {
    let rank = product.dims().len();
    // A product of two vectors may have one dimension instead of none.
    let product = match is_vector(left) && is_vector(right) {
        true => scalar(composed, product)?,
        false => product.clone(),
    };
    let with_row = match (is_vector(left), is_vector(right)) {
        (false, _) => product,
        (true, true) => inserted(&product, 0)?,
        (true, false) => inserted(&product, rank.saturating_sub(1))?,
    };
    match is_vector(right) {
        true => inserted(&with_row, with_row.dims().len()),
        false => Ok(with_row),
    }
}

/// Returns columns without their dimension of length one, if the operand was a vector.
pub(in crate::operators) fn column_of<'v>(
    _: &Composed<'_>,
    columns: &TensorRef<'v>,
    operand: &TensorRef<'_>,
) -> Result<TensorRef<'v>> {
    let rank = columns.dims().len();
    match is_vector(operand) && columns.dims().last() == Some(&1) {
        true => view(columns, &columns.dims()[..rank - 1], &columns.strides()[..rank - 1]),
        false => Ok(columns.clone()),
    }
}

/// Returns true if the matrices of an operand are transposed. A vector never is.
pub(in crate::operators) fn is_swapped(_: &Composed<'_>, tensor: &TensorRef<'_>, flag: bool) -> Result<bool> {
    Ok(flag && !is_vector(tensor))
}

/// Returns one of two tensors.
pub(in crate::operators) fn either<'v>(
    _: &Composed<'_>,
    condition: &bool,
    then: &TensorRef<'v>,
    otherwise: &TensorRef<'v>,
) -> Result<TensorRef<'v>> {
    Ok(if *condition { then.clone() } else { otherwise.clone() })
}

/// Returns true if both flags are.
pub(in crate::operators) fn and(_: &Composed<'_>, one: &bool, other: &bool) -> Result<bool> {
    Ok(*one && *other)
}

/// Returns true if the first flag is true or the other one is not.
pub(in crate::operators) fn or_not(_: &Composed<'_>, one: &bool, other: &bool) -> Result<bool> {
    Ok(*one || !*other)
}

/// Returns the shape of a product of matrices.
pub(in crate::operators) fn product(
    _: &Composed<'_>,
    left: &impl Shaped,
    right: &impl Shaped,
    transpose_left: &bool,
    transpose_right: &bool,
) -> Result<Vec<usize>> {
    let (Some((left_batch, [rows, left_columns])), Some((right_batch, [right_rows, columns]))) =
        (left.shape().split_last_chunk::<2>(), right.shape().split_last_chunk::<2>())
    else {
        return Err(Error::invalid("a product of matrices needs operands of two dimensions"));
    };
    let mut dims = broadcast(left_batch, right_batch)?;
    dims.push(if *transpose_left { *left_columns } else { *rows });
    dims.push(if *transpose_right { *right_rows } else { *columns });
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
