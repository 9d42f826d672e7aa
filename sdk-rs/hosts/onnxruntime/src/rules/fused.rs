//! Operators that ONNX Runtime's optimiser makes of several others.

use tenon::device::Result;
use tenon_operators::TensorRef;

use super::binary;
use super::normalization::{layer_normalized, rms_normalized};
use crate::kernel::{Call, Compute, Info};

/// Adds two inputs and a bias, and writes the sum to an output that may be absent.
fn summed<'c>(call: &'c Call<'_>, bias: usize) -> Result<TensorRef<'c>> {
    let add = |a: &_, b: &_| call.binary(a, b, binary!(add));
    let mut sum = add(&call.input(0)?, &call.input(1)?)?;
    if let Some(bias) = call.optional(bias)? {
        sum = add(&sum, &bias)?;
    }
    if let Some(mut out) = call.optional_output(3, sum.dims())? {
        call.write(&mut out, &sum)?;
    }
    Ok(sum)
}

/// The layer normalization of the sum of two inputs and a bias.
pub(crate) fn skip_layer_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-12);
    Ok(Box::new(move |call| layer_normalized(call, summed(call, 4)?, [2, 3], [1, 2], -1, epsilon)))
}

/// The normalization by the root of the mean square, of the sum of two inputs and a bias.
pub(crate) fn skip_rms_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-12);
    Ok(Box::new(move |call| rms_normalized(call, &summed(call, 3)?, 2, -1, epsilon)))
}
