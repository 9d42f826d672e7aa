//! Rules: what functions of DIOPI need beside the operators.

mod arithmetic;
mod attention;
pub(crate) mod complex_numbers;
mod conversion;
pub(crate) mod creation;
mod decomposition;
pub(crate) mod embedding;
mod filled;
mod flash_attention;
mod images;
pub(crate) mod indexing;
mod inference;
pub(crate) mod layout;
pub(crate) mod losses;
pub(crate) mod masking;
mod matrix;
pub(crate) mod normalization;
pub(crate) mod norms;
mod optimizer;
mod optional;
pub(crate) mod places;
pub(crate) mod pooling;
pub(crate) mod random;
pub(crate) mod reduction;
mod shared;
pub(crate) mod sorting;
mod terms;
mod transformer;

pub(crate) use arithmetic::*;
pub(crate) use conversion::*;
pub(crate) use decomposition::*;
pub(crate) use flash_attention::*;
pub(crate) use inference::*;
pub(crate) use matrix::*;
pub(crate) use optimizer::*;
pub(crate) use transformer::*;
