//! Elementary functions without branches and calls, so that the compiler vectorises loops over them.
//!
//! Fused multiply-add has the same results on every processor. The functions should be called in
//! [`wide`](crate::loops::simd::wide): elsewhere, and on x86-64 processors without AVX2, each of them calls a function
//! of the C library. Polynomials are minimax approximations. Each function states its maximum error in units in the last place, as measured by the
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
