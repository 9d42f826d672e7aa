//! The framework of computed functions: their arguments, and the calls of operators.

pub(crate) mod call;
mod list;
mod method;
mod number;
mod output;
mod read;
pub(crate) mod rules;
mod tensor;

pub(crate) use call::{Call, enter};
pub(crate) use method::{BOOL, COMPLEX, FLOAT, INTEGER, Method};
pub(crate) use number::{Number, Operand, wide};
pub(crate) use output::Output;
pub(crate) use read::{Generator, Place};
pub(crate) use tenon::device::DataType;
pub(crate) use tensor::Tensor;
