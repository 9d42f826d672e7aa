//! A device with operators of its own: ReLU, its gradient, addition and moves of elements.
//!
//! `cargo build -p example-rust-operators` builds a plugin for PaddlePaddle 2.6 to 3.3 and for ONNX Runtime 1.24 to 1.32.
//! `device.rs` has the functions that a host needs, `operators.rs` the operators. Others are composed of them or run on the
//! host's CPU.

mod device;
mod elements;
mod operators;

pub use device::MyNpu;

tenon_onnxruntime::library!(MyNpu);
