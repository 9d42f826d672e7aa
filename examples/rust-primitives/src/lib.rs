//! The device of `rust-operators` with 15 other operators. Tenon composes more of them: softmax, layer normalisation,
//! activation functions, the gradients of all these, and a step of gradient descent.
//!
//! `cargo build -p example-rust-primitives` builds a plugin for PaddlePaddle 2.6 to 3.3.

#[path = "../../rust-operators/src/device.rs"]
mod device;
#[path = "../../rust-operators/src/elements.rs"]
mod elements;
mod operators;
mod product;

pub use device::MyNpu;
