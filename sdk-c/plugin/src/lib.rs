//! The library that plugins in C and C++ link: registers their operators with PaddlePaddle, makes them an execution provider of
//! ONNX Runtime, and adds collectives.
//!
//! A plugin exports its operators with `TENON_EXPORT_OPERATORS` of `tenon/operator_calls.h`, and passes them to
//! `tenon_paddle_register_operators` of `tenon/paddle_operators.h`. `TENON_EXPORT_ONNXRUNTIME` of
//! `tenon/onnxruntime_provider.h` exports the functions that ONNX Runtime looks up. `tenon_collectives_fill` of `tenon/collectives.h` adds
//! collectives to a device that has none.

mod collectives;
mod onnxruntime;
mod paddle;

pub use collectives::tenon_collectives_fill;
pub use onnxruntime::{tenon_onnxruntime_create_factories, tenon_onnxruntime_release_factory};
pub use paddle::tenon_paddle_register_operators;
