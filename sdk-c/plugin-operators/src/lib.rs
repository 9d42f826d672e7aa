//! Operators of a plugin in C or C++, and their registration with PaddlePaddle.
//!
//! A plugin exports its operators with `TENON_EXPORT_OPERATORS` of `tenon/operator_calls.h`, and passes them to
//! `tenon_paddle_register_operators` of `tenon/paddle_operators.h`, which this library implements.

mod paddle;

pub use paddle::tenon_paddle_register_operators;
