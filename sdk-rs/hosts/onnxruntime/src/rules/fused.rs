//! Operators that ONNX Runtime's optimiser makes of several others.

use tenon::device::Result;

use super::binary;
use super::normalization::layer_normalized;
use crate::kernel::{Compute, Info};

/// The layer normalization of the sum of two inputs and a bias.
pub(crate) fn skip_layer_normalization(info: &Info) -> Result<Compute> {
    let epsilon = info.float("epsilon").unwrap_or(1e-12);
    Ok(Box::new(move |call| {
        let (x, skip) = (call.input(0)?, call.input(1)?);
        let add = |a: &_, b: &_| call.binary(a, b, binary!(add));
        let mut sum = add(&x, &skip)?;
        if let Some(bias) = call.optional(4)? {
            sum = add(&sum, &bias)?;
        }
        if let Some(mut out) = call.optional_output(3, sum.dims())? {
            call.write(&mut out, &sum)?;
        }
        layer_normalized(call, sum, [2, 3], [1, 2], -1, epsilon)
    }))
}
