//! What a plugin in C or C++ links: the registration of its operators with PaddlePaddle, and collectives.
//!
//! A plugin exports its operators with `TENON_EXPORT_OPERATORS` of `tenon/operator_calls.h`, and passes them to
//! `tenon_paddle_register_operators` of `tenon/paddle_operators.h`. `tenon_collectives_fill` of `tenon/collectives.h` adds
//! collectives to a device that has none.

mod collectives;
mod paddle;

pub use collectives::tenon_collectives_fill;
pub use paddle::tenon_paddle_register_operators;
