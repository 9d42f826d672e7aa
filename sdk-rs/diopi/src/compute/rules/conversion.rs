//! Rules that convert operands.

use tenon::device::Result;

use crate::compute::{Call, Tensor};

/// Converts a tensor to the type of another one.
pub(crate) fn to<'c>(call: &'c Call, tensor: &Tensor<'c>, like: &Tensor<'_>) -> Result<Tensor<'c>> {
    call.to_type(tensor, like.data_type())
}
