//! Functions of `f32`.

pub use super::angle::{cos, sin, tan};
use super::elementary::elementary;
pub use super::error_function::{erf, erfc};
pub use super::power::pow;

/// Added to a small number, it leaves the nearest integer in the lowest bits.
const SHIFT: f32 = 12_582_912.0;
/// The first part has so few bits that its product with an exponent is exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
const LOWEST: f32 = -105.0;
const HIGHEST: f32 = 89.0;
/// Approximates `(exp(r) - 1 - r) / r^2`.
const EXP: [f32; 5] = [1.381_456e-3, 8.368_735e-3, 4.166_839e-2, 1.666_652_1e-1, 0.499_999_94];
/// Approximates `(log((1 + s) / (1 - s)) - 2 * s) / s^3` as a function of `s^2`.
const LOG: [f32; 3] = [2.987_184e-1, 3.997_754e-1, 6.666_677_6e-1];

elementary!(f32, i32);
