//! Rules: what functions of DIOPI need beside the operators.

mod conversion;

pub(crate) use conversion::{scaled, to};
