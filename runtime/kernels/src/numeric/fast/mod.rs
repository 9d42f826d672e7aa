//! Elementary functions without branches and calls, so that the compiler vectorises loops over them.
//!
//! They do not use fused multiply-add, so results are the same on every processor. Polynomials are minimax
//! approximations. Each function states its maximum error in units in the last place, as measured by the
//! tests.

mod angle;
mod blocks;
pub(super) mod double;
mod elementary;
mod error_function;
mod power;
pub(super) mod single;
#[cfg(test)]
mod tests;
