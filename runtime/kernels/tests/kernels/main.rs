//! The kernels, held against simpler code.
//!
//! All are one program, because a program for each file would take longer to compile and link.

mod ctc;
mod gradient;
mod indexing;
mod numbers;
mod optimizers;
mod random;
mod reductions;
mod shapes;
mod tensor;
mod vision;
