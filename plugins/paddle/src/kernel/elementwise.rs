//! Elementwise operators: the type and the shape of results, and gradients of operands that were broadcast.

use tenon::device::DataType;
use tenon_kernels::{Buffer, DType, View, ViewMut, formulas, reduce};

use super::call::Call;
use super::element::data_type;
use super::output::Output;
use crate::error::{Error, Result};

/// The type of the result of some operands: theirs, where truth values only choose between the others.
fn result_type(operands: &[&View<'_>]) -> DataType {
    let mut types = operands.iter().map(|operand| operand.dtype());
    data_type(types.find(|dtype| *dtype != DType::Bool).unwrap_or(DType::Bool))
}

/// Computes the result of an operator, which has the type of the operands.
pub(crate) fn result(
    call: &Call,
    out: Output<'_>,
    operands: &[&View<'_>],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> Result<()> {
    let mut out = out.view(result_type(operands))?;
    call.compute(|| compute(&mut out))
}

/// Computes truth values.
pub(crate) fn test(
    call: &Call,
    out: Output<'_>,
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> Result<()> {
    let mut out = out.view(DataType::BOOL)?;
    call.compute(|| compute(&mut out))
}

/// Computes the gradient of an operand, and sums it over the dimensions over which the operand was broadcast.
///
/// `axis` is as for [`aligned`]. An output that Paddle does not want is left out.
pub(crate) fn gradient(
    call: &Call,
    out: Option<Output<'_>>,
    axis: i32,
    operands: &[&View<'_>],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let mut out = out.view(result_type(operands))?;
    fill(call, &mut out, axis, operands, compute)
}

/// Computes a gradient as [`gradient`] does, before another gradient of the same operands: Paddle may have the first one in
/// the memory of an operand, which the other one still needs. [`Early::store`] is for after the others.
pub(crate) fn early_gradient<'c>(
    call: &'c Call,
    out: Option<Output<'c>>,
    axis: i32,
    operands: &[&View<'_>],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> Result<Early<'c>> {
    let Some(out) = out else { return Ok(Early { call, staged: None }) };
    let mut out = out.view(result_type(operands))?;
    if !operands.iter().any(|operand| out.shares_memory(operand)) {
        fill(call, &mut out, axis, operands, compute)?;
        return Ok(Early { call, staged: None });
    }
    let mut buffer = Buffer::new(out.dtype(), out.dims())?;
    fill(call, &mut buffer.view_mut()?, axis, operands, compute)?;
    Ok(Early { call, staged: Some((out, buffer)) })
}

/// A gradient that may wait in memory of its own.
#[must_use = "it is stored at the end"]
pub(crate) struct Early<'c> {
    call: &'c Call,
    staged: Option<(ViewMut<'c>, Buffer)>,
}

impl Early<'_> {
    /// Stores the gradient in its output.
    pub(crate) fn store(self) -> Result<()> {
        match self.staged {
            None => Ok(()),
            Some((mut out, buffer)) => {
                self.call.compute(|| formulas::elementary::copy(&mut out, &buffer.view()?))
            }
        }
    }
}

/// Computes a gradient of all operands together, and sums it if the output is smaller.
fn fill(
    call: &Call,
    out: &mut ViewMut<'_>,
    axis: i32,
    operands: &[&View<'_>],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> Result<()> {
    let dims = operands.iter().map(|operand| operand.dims()).try_fold(Vec::new(), broadcast)?;
    if out.dims() == dims {
        return call.compute(|| compute(out));
    }
    let count = missing(out.dims().len(), dims.len(), axis)?;
    let mut out = out.reborrow().append_dimensions(count);
    call.compute(|| reduce::sum_of(&mut out, &dims, compute))
}

/// Aligns operands of fewer dimensions with the largest one, from its dimension `axis` on; -1 leaves them as they are,
/// so that the last dimensions agree.
pub(crate) fn aligned<const N: usize>(operands: [View<'_>; N], axis: i32) -> Result<[View<'_>; N]> {
    let rank = operands.iter().map(|operand| operand.dims().len()).max().unwrap_or_default();
    let mut refused = Ok(());
    let aligned = operands.map(|operand| match missing(operand.dims().len(), rank, axis) {
        Ok(count) => operand.append_dimensions(count),
        Err(error) => {
            refused = Err(error);
            operand
        }
    });
    refused.map(|()| aligned)
}

/// How many dimensions of length one an operand needs at its end.
fn missing(rank: usize, largest: usize, axis: i32) -> Result<usize> {
    if axis == -1 || rank == largest {
        return Ok(0);
    }
    let axis_from_start = usize::try_from(axis).ok();
    axis_from_start.and_then(|axis| largest.checked_sub(axis)?.checked_sub(rank)).ok_or_else(|| {
        Error::invalid(format!("`axis` is {axis} for operands of {rank} and {largest} dimensions"))
    })
}

/// The shape of two operands together.
fn broadcast(dims: Vec<usize>, other: &[usize]) -> Result<Vec<usize>> {
    let rank = dims.len().max(other.len());
    let at =
        |dims: &[usize], index: usize| (index + dims.len()).checked_sub(rank).map_or(1, |index| dims[index]);
    (0..rank)
        .map(|index| match (at(&dims, index), at(other, index)) {
            (left, 1) => Ok(left),
            (1, right) => Ok(right),
            (left, right) if left == right => Ok(left),
            _ => Err(Error::invalid(format!("the shapes {dims:?} and {other:?} do not go together"))),
        })
        .collect()
}
