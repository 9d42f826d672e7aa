//! Rules that convert operands.

use tenon::device::Result;

use crate::compute::number::Category;
use crate::compute::{Call, DataType, Number, Tensor};

/// Converts a tensor to the type of another tensor.
pub(crate) fn to<'c>(call: &'c Call, tensor: &Tensor<'c>, like: &Tensor<'_>) -> Result<Tensor<'c>> {
    call.to_type(tensor, like.data_type())
}

/// Returns the value of a number in the type of a tensor, as in PyTorch: integers drop the fraction, and
/// unsigned integers wrap.
#[allow(clippy::unnecessary_wraps, reason = "as for other rules")]
pub(crate) fn element(_call: &Call, number: Number, like: &Tensor<'_>) -> Result<f64> {
    Ok(match like.data_type() {
        DataType::UINT8 => (number.to_i64() & 0xFF) as f64,
        ty if Category::of(ty) == Category::Integer => number.to_i64() as f64,
        _ => number.to_f64(),
    })
}
