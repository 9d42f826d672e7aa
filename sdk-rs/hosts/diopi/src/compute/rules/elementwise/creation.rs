//! Rules that fill tensors with constants and sequences.

use tenon::device::{Error, Result};

use crate::compute::rules::shared;
use crate::compute::rules::shared::{expect_shape, in_steps};
use crate::compute::{Call, DataType, FLOAT, INTEGER, Method, Number, Tensor};

/// Sets all elements to a number.
pub(crate) fn fill(call: &Call, target: &Tensor<'_>, number: Number) -> Result<()> {
    shared::fill(call, target, number)
}

/// Sets all elements to an integer.
pub(crate) fn constant(call: &Call, target: &Tensor<'_>, value: i64) -> Result<()> {
    shared::fill(call, target, Number::Integer(value))
}

/// Sets all elements of a tensor with the given shape to an integer.
pub(crate) fn filled(call: &Call, target: &Tensor<'_>, size: &[i64], value: i64) -> Result<()> {
    if !target.dims().iter().map(|&dim| dim as i64).eq(size.iter().copied()) {
        return Err(Error::invalid(format!("`out` has the shape {:?} instead of {size:?}", target.dims())));
    }
    constant(call, target, value)
}

/// Writes the numbers from a start (inclusive) to an end (exclusive) with a step.
///
/// For integer results, the start and the step are truncated first, as in PyTorch.
pub(crate) fn arange<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    start: Number,
    end: Number,
    step: Number,
) -> Result<()> {
    let is_real = [start, end, step].iter().any(|number| matches!(number, Number::Float(_)));
    let ty = if is_real { DataType::FLOAT64 } else { DataType::INT64 };
    let [start, end, step] = [call.scalar(start, ty)?, call.scalar(end, ty)?, call.scalar(step, ty)?];
    let mut result = call.output(out, out.data_type(), &[])?;
    call.run(&Method::new("arange_tensor", FLOAT | INTEGER), ty, &mut |device, launch| {
        device.arange_tensor(launch, result.elements(), start.elements(), end.elements(), step.elements())
    })?;
    result.finish()
}

/// Writes equally spaced numbers from a start to an end, both inclusive.
pub(crate) fn linspace<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    start: Number,
    end: Number,
    steps: i64,
) -> Result<()> {
    let ty = DataType::FLOAT64;
    let (start, end) = (call.scalar(start, ty)?, call.scalar(end, ty)?);
    let steps = call.scalar(Number::Integer(steps), DataType::INT64)?;
    let mut result = call.output(out, out.data_type(), &[])?;
    call.run(&Method::new("linspace", FLOAT | INTEGER), ty, &mut |device, launch| {
        device.linspace(launch, result.elements(), start.elements(), end.elements(), steps.elements())
    })?;
    result.finish()
}

/// Repeats each vector along all dimensions of a grid except its own.
pub(crate) fn mesh_grid<'c>(call: &'c Call, outs: &[Tensor<'c>], inputs: &[Tensor<'c>]) -> Result<()> {
    let dims: Vec<usize> = inputs.iter().map(Tensor::len).collect();
    for (place, (out, input)) in outs.iter().zip(inputs).enumerate() {
        if input.rank() > 1 {
            return Err(Error::invalid(format!(
                "`inputs` has the shape {:?}, which is no vector",
                input.dims()
            )));
        }
        expect_shape("outs", out, &dims)?;
        let mut input = input.with_a_dimension()?;
        for _ in place + 1..inputs.len() {
            input = input.unsqueezed(input.rank())?;
        }
        in_steps(call, out, &[&input], |out| call.copy(out, &input))?;
    }
    Ok(())
}
