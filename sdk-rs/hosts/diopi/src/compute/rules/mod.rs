//! Rules: the code that DIOPI functions need in addition to the operators.

mod elementwise;
mod language_models;
mod layers;
pub(crate) mod layout;
mod matrices;
mod mmcv;
mod optimizer;
mod optional;
mod selection;
mod shared;
mod statistics;
mod terms;

pub(crate) use elementwise::arithmetic::*;
pub(crate) use elementwise::conversion::*;
pub(crate) use elementwise::{complex_numbers, creation, random};
pub(crate) use language_models::flash_attention::*;
pub(crate) use language_models::inference::*;
pub(crate) use language_models::lmdeploy;
pub(crate) use language_models::prompts::*;
pub(crate) use language_models::sampling;
pub(crate) use language_models::transformer::*;
pub(crate) use layers::{convolution, embedding, normalization, pooling, resizing, vision};
pub(crate) use matrices::decomposition::*;
pub(crate) use matrices::matrix::*;
pub(crate) use matrices::sparse::*;
pub(crate) use mmcv::{clouds, deformable, detection, features, filters, points, polygons, regions, sparse};
pub(crate) use optimizer::*;
pub(crate) use selection::{indexing, masking, places, slices, sorting};
pub(crate) use statistics::{likelihood, losses, norms, reduction};
