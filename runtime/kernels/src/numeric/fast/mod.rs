//! Elementary functions without branches and calls, so that the compiler vectorises loops over them.
//!
//! They use no fused multiplication and addition: results are the same on every processor. Polynomials are minimax
//! approximations. Each function states by how many units in the last place it is off at most, as the tests measured it.

mod angle;
mod blocks;
pub(super) mod double;
mod elementary;
mod error_function;
mod power;
pub(super) mod single;
#[cfg(test)]
mod tests;
