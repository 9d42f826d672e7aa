//! Functions of `f32`.

pub use super::angle::{cos, cos_all, sin, sin_all, tan};
use super::blocks::in_blocks;
use super::elementary::elementary;
pub use super::error_function::{erf, erfc};
pub use super::power::pow;

/// A constant whose sum with a small number has the nearest integer in its lowest bits.
const SHIFT: f32 = 12_582_912.0;
/// The first part has few bits, so that its product with an exponent is exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
const LOWEST: f32 = -105.0;
const HIGHEST: f32 = 89.0;
/// Approximates `(exp(r) - 1 - r) / r^2`.
const EXP: [f32; 5] = [1.381_456e-3, 8.368_735e-3, 4.166_839e-2, 1.666_652_1e-1, 0.499_999_94];
/// Approximates `(log((1 + s) / (1 - s)) - 2 * s) / s^3` as a function of `s^2`.
const LOG: [f32; 3] = [2.987_184e-1, 3.997_754e-1, 6.666_677_6e-1];

elementary!(f32, i32);

/// Computes the reciprocal square root of a normal positive number by Newton's method: a division and a
/// square root would take several times as long.
#[inline(always)]
fn rsqrt_of_normal(x: f32) -> f32 {
    // Half the exponent with the opposite sign, and an approximation of the fraction.
    let y = f32::from_bits(0x5f37_5a86_u32.wrapping_sub(x.to_bits() >> 1));
    let half = 0.5 * x;
    let y = y * (1.5 - half * y * y);
    let y = y * (1.5 - half * y * y);
    y + y * (0.5 - half * y * y)
}

/// Computes the reciprocal square roots of a slice. Both slices have the same length.
#[inline(always)]
pub fn rsqrt_all(out: &mut [f32], x: &[f32]) {
    const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
    const LAST: u32 = f32::MAX.to_bits();
    in_blocks(
        out,
        x,
        (
            #[inline(always)]
            |x: f32| x.to_bits().wrapping_sub(FIRST),
            LAST - FIRST,
        ),
        rsqrt_of_normal,
        rsqrt,
    );
}

/// Computes the reciprocal of the square root.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    x.sqrt().recip()
}
