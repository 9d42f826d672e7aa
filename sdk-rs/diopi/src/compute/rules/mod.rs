//! Rules: what functions of DIOPI need beside the operators.

mod arithmetic;
mod conversion;
pub(crate) mod creation;
pub(crate) mod layout;
mod shared;

pub(crate) use arithmetic::*;
pub(crate) use conversion::*;
