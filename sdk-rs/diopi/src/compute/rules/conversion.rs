//! Rules that convert operands.

use tenon::device::Result;

use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Tensor};

/// Converts a tensor to the type of another one.
pub(crate) fn to<'c>(call: &'c Call, tensor: &Tensor<'c>, like: &Tensor<'_>) -> Result<Tensor<'c>> {
    call.to_type(tensor, like.data_type())
}

/// Multiplies a tensor by a number.
pub(crate) fn scaled<'c>(call: &'c Call, tensor: &'c Tensor<'c>, factor: Number) -> Result<Tensor<'c>> {
    if factor.to_f64() == 1.0 {
        return Ok(tensor.clone());
    }
    call.formula(
        &Method::new("multiply", FLOAT | INTEGER | BOOL),
        [tensor.into(), factor.into()],
        |device, launch, out, [a, b]| device.multiply(launch, out, a, b),
    )
}
