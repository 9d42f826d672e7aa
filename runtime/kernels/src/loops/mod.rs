//! Loops over the elements of tensors, shared by all operators.

pub(crate) mod convert;
pub(crate) mod lines;
pub(crate) mod movement;
pub(crate) mod operand;
pub(crate) mod simd;
pub(crate) mod slices;
pub(crate) mod taps;
pub(crate) mod tiles;
pub(crate) mod walk;
pub(crate) mod window;
