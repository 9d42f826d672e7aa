//! Rules: what functions of DIOPI need beside the operators.

mod arithmetic;
mod conversion;
pub(crate) mod creation;
mod decomposition;
mod filled;
mod images;
pub(crate) mod layout;
pub(crate) mod losses;
mod matrix;
pub(crate) mod normalization;
mod optimizer;
mod optional;
pub(crate) mod pooling;
mod shared;
mod terms;
mod transformer;

pub(crate) use arithmetic::*;
pub(crate) use conversion::*;
pub(crate) use decomposition::*;
pub(crate) use matrix::*;
pub(crate) use optimizer::*;
pub(crate) use transformer::*;
