//! Random calls of every function of `functions.h`, on any plugin.
//!
//! The functions and their parameters come from the spec, by `tenon::reflect`: a new function needs no code here.

mod arguments;
mod choices;
mod objects;
mod place;
pub mod program;
pub mod tally;

pub use program::{Finding, Subject};
pub use tally::Tally;
