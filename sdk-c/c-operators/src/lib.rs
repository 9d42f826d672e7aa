//! Operators of a plugin in C or C++, and their registration with PaddlePaddle.
//!
//! A plugin fills the table of `tenon/operators.h` and calls `tenon_paddle_register_operators` of
//! `tenon/paddle_operators.h`, which this library implements. `CTable` is the table as the traits of operators have it.
//!
//! * `table` has the struct and the methods of the traits, generated from the spec.
//! * `read` checks and copies the table of a plugin.
//! * `arguments` and `call` pass arguments to its functions, and return their errors.
//! * `paddle` has the exported function.

mod arguments;
mod call;
mod ffi;
mod paddle;
mod read;
#[rustfmt::skip]
#[allow(clippy::too_many_arguments, reason = "a method has as many parameters as its entry in the spec")]
#[allow(clippy::type_complexity, reason = "the type of a function has a parameter for each of its method")]
mod table;

pub use call::CTable;
pub use paddle::tenon_paddle_register_operators;
pub use read::TableError;
pub use table::TenonOperators;
