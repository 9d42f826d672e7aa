//! Operators on CPU memory, with safe signatures: tensors and attributes in, tensors out.
//!
//! The crate contains arithmetic, and checks that the shapes of its arguments agree. It depends on no
//! framework and no device: callers first make slices or [views](View) of their tensors. The type of a slice
//! is known at compile time. The type of a view is known at run time, and a view has a strided layout.
//!
//! ```
//! use tenon_kernels::{View, ViewMut, softmax::softmax};
//!
//! let mut out = [0.0_f32; 4];
//! softmax(&mut ViewMut::of_slice(&mut out, &[2, 2])?, &View::of_slice(&[1.0_f32; 4], &[2, 2])?, -1)?;
//! assert_eq!(out, [0.5; 4]);
//! # Ok::<(), tenon_kernels::Error>(())
//! ```
//!
//! Operators that frameworks run in place take `&mut` slices and change them. Loops are simple, and written so that the
//! compiler vectorises them. Long ones are split among [`threads`], if the program has set some.

pub use tenon_operator_attributes as attributes;

pub mod attention;
pub mod cast;
pub mod complex_numbers;
mod constant;
pub mod conv;
pub mod decomposition;
pub mod deformable;
pub mod detection;
mod elements;
pub mod elementwise;
pub mod embedding;
mod error;
pub mod formulas;
pub mod graph;
pub mod images;
pub mod indexing;
pub mod interpolate;
mod loops;
pub mod loss;
pub mod matmul;
pub mod norm;
pub mod numeric;
pub mod optimizer;
pub mod points;
pub mod polygons;
pub mod pool;
pub mod provider;
pub mod quantization;
pub mod random;
pub mod reduction;
pub mod regions;
pub mod rnn;
pub mod scan;
pub mod sequences;
pub mod shape;
pub mod softmax;
pub mod sorting;
pub mod sparse;
pub mod special;
pub mod spectrum;
pub mod swiglu;
mod tensor;
pub mod threads;
pub mod vision;

pub use bytemuck::Pod;
pub use constant::Copies;
pub use elements::dtype::{DType, Element};
pub use elements::element::{Bool, FromNumber, Number, Real};
pub use error::{Error, Result, expect_length};
pub use half::{bf16, f16};
pub use num_complex::Complex;
pub use tensor::buffer::Buffer;
pub use tensor::{TensorMeta, View, ViewMut};
