//! The framework for declaring operators.
//!
//! Paddle calls an operator in two ways: eager code passes each argument separately, and the executor of static graphs
//! passes a context that contains them. [`kernel!`] declares the arguments once, as the fields of a struct, and
//! generates both entry points. [`Run`] implements the operator for each element type.

mod argument;
mod call;
mod element;
pub(crate) mod elementwise;
mod output;
pub(crate) mod outputs;
mod registry;
pub(crate) mod shapes;
mod tensor;

pub(crate) use argument::float16::{Bf16, F16};
pub(crate) use argument::number::{IntArray, Scalar, unsigned};
pub(crate) use argument::{Argument, Attribute, Input, Outcome, Section};
pub(crate) use call::{Call, enter};
pub(crate) use element::{BOOL, Bool, COMPLEX, Complex, Element, FLOATS, INTEGERS};
pub(crate) use output::Output;
pub(crate) use registry::{Any, Kernel, Registry, Run, kernel, register};
pub(crate) use tensor::{PerDimension, Place, Plain, Tensor, Window, layout};
