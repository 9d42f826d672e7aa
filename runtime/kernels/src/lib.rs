//! Operators on CPU memory, with safe signatures: tensors and attributes in, tensors out.
//!
//! The crate contains arithmetic, and checks that the shapes of its arguments agree. It uses no framework and no
//! device: callers make slices or [views](View) of their tensors first. A slice has its type in the program, a view
//! has it at run time, and a layout with strides.
//!
//! ```
//! use tenon_kernels::optimizer::{Precision, Sgd};
//!
//! let mut weights = [1.0_f32, 2.0];
//! Sgd { learning_rate: 0.5 }.step(Precision::Single(&mut weights), &[1.0, -1.0])?;
//! assert_eq!(weights, [0.5, 2.5]);
//! # Ok::<(), tenon_kernels::Error>(())
//! ```
//!
//! Operators that frameworks run in place take `&mut` slices and change them. Loops are plain, on one thread,
//! and written so that the compiler vectorises them.

mod buffer;
mod cast;
pub mod concat;
mod convert;
mod dtype;
mod element;
pub mod elementwise;
mod error;
#[rustfmt::skip]
pub mod formulas;
pub mod norm;
pub mod numeric;
pub mod optimizer;
pub mod reduce;
pub mod strided;
mod tensor;
mod walk;

pub use buffer::Buffer;
pub use bytemuck::Pod;
pub use dtype::{DType, Element};
pub use element::{Bool, FromNumber, Number, Real, Stored};
pub use error::{Error, Result, expect_length};
pub use half::{bf16, f16};
pub use num_complex::Complex;
pub use tensor::{View, ViewMut};

/// Copies all elements.
///
/// # Errors
/// [`Error::Length`].
pub fn copy<T: Copy>(target: &mut [T], source: &[T]) -> Result<()> {
    expect_length("source", target.len(), source.len())?;
    target.copy_from_slice(source);
    Ok(())
}
