//! Rules: what functions of DIOPI need beside the operators.

mod arithmetic;
mod conversion;

pub(crate) use arithmetic::*;
pub(crate) use conversion::*;
