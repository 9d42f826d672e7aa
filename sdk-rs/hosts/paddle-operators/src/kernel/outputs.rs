//! The types of outputs, and lists of outputs.

use tenon::device::DataType;
use tenon_operators::{TensorMut, TensorRef};

use crate::error::{Error, Result};
use crate::kernel::output::Output;

/// Returns the type of an input.
pub(crate) fn like(input: &TensorRef<'_>) -> DataType {
    input.data_type()
}

/// Returns the type of an optional input, or if it is absent the type that the host has set for the output:
/// Paddle computes the gradient of a bias without a scale.
///
/// Some releases leave the default there, which is float32. So the type is at least as wide as that of the
/// first input.
pub(crate) fn like_optional(
    input: Option<&TensorRef<'_>>,
    output: Output<'_>,
    first: &TensorRef<'_>,
) -> Result<DataType> {
    match (input, like(first)) {
        (Some(input), _) => Ok(like(input)),
        (None, DataType::FLOAT64) => Ok(DataType::FLOAT64),
        (None, _) => output.tensor().data_type(),
    }
}

/// Returns the type of the first of several inputs.
pub(crate) fn like_first<'v>(inputs: impl IntoIterator<Item = &'v TensorRef<'v>>) -> Result<DataType> {
    let first = inputs.into_iter().next();
    first
        .map(like)
        .ok_or_else(|| Error::invalid("the type of an output is that of an input, and none is given"))
}

/// Returns the type in which sums of an input's elements are accumulated: a 32-bit type for narrower ones.
pub(crate) fn wide(input: &TensorRef<'_>) -> DataType {
    match input.data_type() {
        DataType::FLOAT16 | DataType::BFLOAT16 => DataType::FLOAT32,
        wide => wide,
    }
}

/// Returns the complex type whose parts are as wide as the elements of an input or their parts.
pub(crate) fn complex_of(input: &TensorRef<'_>) -> Result<DataType> {
    match input.data_type() {
        DataType::FLOAT32 | DataType::COMPLEX64 => Ok(DataType::COMPLEX64),
        DataType::FLOAT64 | DataType::COMPLEX128 => Ok(DataType::COMPLEX128),
        other => {
            Err(Error::invalid(format!("there are no complex numbers with parts of the type {other:?}")))
        }
    }
}

/// Returns the complex type of the widest of some inputs, which may be real or complex.
pub(crate) fn widest_complex<const N: usize>(inputs: [&TensorRef<'_>; N]) -> Result<DataType> {
    let types = inputs.map(complex_of).into_iter().collect::<Result<Vec<_>>>()?;
    let is_wide = types.contains(&DataType::COMPLEX128);
    Ok(if is_wide { DataType::COMPLEX128 } else { DataType::COMPLEX64 })
}

/// Returns the real type that is as wide as the elements of an input or their parts.
pub(crate) fn real_of(input: &TensorRef<'_>) -> Result<DataType> {
    match input.data_type() {
        DataType::COMPLEX64 => Ok(DataType::FLOAT32),
        DataType::COMPLEX128 => Ok(DataType::FLOAT64),
        real => Ok(real),
    }
}

/// Returns an optional output if it is requested. Static programs pass some unrequested outputs without a
/// shape.
pub(crate) fn wanted(output: Option<Output<'_>>) -> Result<Option<Output<'_>>> {
    let Some(output) = output else { return Ok(None) };
    Ok(output.tensor().has_shape()?.then_some(output))
}

/// Allocates memory for each output of a list. Skips those that the host does not request.
pub(crate) fn views<'c>(
    outputs: Vec<Option<Output<'c>>>,
    ty: impl Fn(Output<'c>) -> Result<DataType>,
) -> Result<Vec<Option<TensorMut<'c>>>> {
    let view = |out| wanted(out)?.map(|out| out.view(ty(out)?)).transpose();
    outputs.into_iter().map(view).collect()
}
