//! Rules for matrices.

pub mod decomposition;
pub mod matrix;
pub mod sparse;
