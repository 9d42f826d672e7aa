//! The library that plugins in C and C++ link: registers their operators with PaddlePaddle, and adds collectives.
//!
//! A plugin exports its operators with `TENON_EXPORT_OPERATORS` of `tenon/operator_calls.h`, and passes them to
//! `tenon_paddle_register_operators` of `tenon/paddle_operators.h`. `tenon_collectives_fill` of `tenon/collectives.h` adds
//! collectives to a device that has none.

mod collectives;
mod paddle;

pub use collectives::tenon_collectives_fill;
pub use paddle::tenon_paddle_register_operators;
