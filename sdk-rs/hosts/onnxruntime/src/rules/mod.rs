//! What nodes compute: functions that read the attributes of a node, and return what computes it.
//!
//! Formulas and rules are those of the operators' documentation at onnx.ai.

pub(crate) mod attention;
pub(crate) mod blocks;
pub(crate) mod convolution;
pub(crate) mod creation;
pub(crate) mod elementwise;
pub(crate) mod fused;
pub(crate) mod images;
pub(crate) mod indexing;
pub(crate) mod normalization;
pub(crate) mod products;
pub(crate) mod quantization;
pub(crate) mod recurrent;
pub(crate) mod reduction;
pub(crate) mod rotary;
pub(crate) mod shapes;
mod steps;

/// A method of one tensor, as a function.
macro_rules! unary {
    ($method:ident) => {
        |operators, launch, out, x| operators.$method(launch, out, x)
    };
}
use unary;

/// A method of two tensors, as a function.
macro_rules! binary {
    ($method:ident) => {
        |operators, launch, out, a, b| operators.$method(launch, out, a, b)
    };
}
use binary;
