//! Rules: what functions of DIOPI need beside the operators.

mod arithmetic;
mod conversion;
pub(crate) mod creation;
mod filled;
mod images;
pub(crate) mod layout;
pub(crate) mod pooling;
mod shared;

pub(crate) use arithmetic::*;
pub(crate) use conversion::*;
