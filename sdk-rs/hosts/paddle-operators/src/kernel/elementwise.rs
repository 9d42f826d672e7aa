//! Elementwise operators: result types, and gradients that share memory with operands.

use tenon::device::{self, DataType};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use crate::error::{Error, Result};
use crate::kernel::call::Call;
use crate::kernel::output::Output;

/// Returns the result type of operands: that of the first operand that is not boolean, or else boolean.
fn result_type(operands: &[&TensorRef<'_>]) -> DataType {
    let mut types = operands.iter().map(|operand| operand.data_type());
    types.find(|ty| *ty != DataType::BOOL).unwrap_or(DataType::BOOL)
}

/// Computes the result of an operator. It has the type of the operands.
pub(crate) fn result(
    call: &Call,
    out: Output<'_>,
    operands: &[&TensorRef<'_>],
    compute: &mut dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>) -> device::Result<()>,
) -> Result<()> {
    let mut out = out.view(result_type(operands))?;
    call.run(&mut |device, launch| compute(device, launch, &mut out))
}

/// Computes a boolean result.
pub(crate) fn test(
    call: &Call,
    out: Output<'_>,
    compute: &mut dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>) -> device::Result<()>,
) -> Result<()> {
    let mut out = out.view(DataType::BOOL)?;
    call.run(&mut |device, launch| compute(device, launch, &mut out))
}

/// Computes the gradient with respect to an operand. Skips an output that Paddle does not request.
///
/// `axis` is as for [`aligned`].
pub(crate) fn gradient(
    call: &Call,
    out: Option<Output<'_>>,
    axis: i32,
    operands: &[&TensorRef<'_>],
    compute: &mut dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>) -> device::Result<()>,
) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let mut out = output(out, axis, operands)?;
    call.run(&mut |device, launch| compute(device, launch, &mut out))
}

/// Computes a gradient as [`gradient`] does, before another gradient of the same operands. Paddle may place
/// the first gradient in the memory of an operand that the other one still needs. Call [`Early::store`] after
/// the other gradients.
pub(crate) fn early_gradient<'c>(
    call: &'c Call,
    out: Option<Output<'c>>,
    axis: i32,
    operands: &[&TensorRef<'_>],
    compute: &mut dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>) -> device::Result<()>,
) -> Result<Early<'c>> {
    let Some(out) = out else { return Ok(Early { call, staged: None }) };
    let mut out = output(out, axis, operands)?;
    if !operands.iter().any(|operand| out.shares_memory(operand)) {
        call.run(&mut |device, launch| compute(device, launch, &mut out))?;
        return Ok(Early { call, staged: None });
    }
    let mut stage = call.temporary(out.data_type(), out.dims())?;
    call.run(&mut |device, launch| compute(device, launch, &mut stage))?;
    Ok(Early { call, staged: Some((out, stage)) })
}

/// A gradient that may be kept in temporary memory.
#[must_use = "it is stored at the end"]
pub(crate) struct Early<'c> {
    call: &'c Call,
    staged: Option<(TensorMut<'c>, TensorMut<'c>)>,
}

impl Early<'_> {
    /// Stores the gradient in its output.
    pub(crate) fn store(self) -> Result<()> {
        match self.staged {
            None => Ok(()),
            Some((mut out, stage)) => {
                let stage = stage.into_input();
                self.call.run(&mut |device, launch| device.expand(launch, &mut out, &stage))
            }
        }
    }
}

/// Returns the output of a gradient, with the trailing dimensions that [`aligned`] gives to operands.
fn output<'c>(out: Output<'c>, axis: i32, operands: &[&TensorRef<'_>]) -> Result<TensorMut<'c>> {
    let out = out.view(result_type(operands))?;
    let rank = operands.iter().map(|operand| operand.dims().len()).max().unwrap_or_default();
    let count = missing(out.dims().len(), rank, axis)?;
    Ok(out.append_dimensions(count))
}

/// Aligns operands of fewer dimensions with the largest one, starting at its dimension `axis`. With -1 they
/// stay unchanged, so that the last dimensions are aligned.
pub(crate) fn aligned<const N: usize>(operands: [TensorRef<'_>; N], axis: i32) -> Result<[TensorRef<'_>; N]> {
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

/// Returns the number of trailing dimensions of length one that an operand needs.
fn missing(rank: usize, largest: usize, axis: i32) -> Result<usize> {
    if axis == -1 || rank >= largest {
        return Ok(0);
    }
    let axis_from_start = usize::try_from(axis).ok();
    axis_from_start.and_then(|axis| largest.checked_sub(axis)?.checked_sub(rank)).ok_or_else(|| {
        Error::invalid(format!("`axis` is {axis} for operands of {rank} and {largest} dimensions"))
    })
}
