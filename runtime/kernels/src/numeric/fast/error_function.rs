//! The error function and its complement.

use std::f32::consts::FRAC_2_SQRT_PI;

use super::single::{polynomial, reduced, two_to};

/// From this argument on, the result rounds to 1.
const LIMIT: f32 = 3.9;
/// Approximates `erf(x) / x` below `LIMIT` as a quotient of two functions of `x^2`.
const DIVIDEND: [f32; 6] = [
    1.986_627_5e-6,
    2.845_504_2e-4,
    3.883_241_4e-3,
    5.310_148_4e-2,
    1.935_445_4e-1,
    FRAC_2_SQRT_PI.next_down(),
];
const DIVISOR: [f32; 6] = [3.741_772_5e-5, 1.185_519_6e-3, 1.520_710_3e-2, 1.153_494_8e-1, 5.048_572e-1, 1.0];

/// Computes the error function.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let size = x.abs();
    let bounded = if size > LIMIT { LIMIT } else { size };
    let square = bounded * bounded;
    let value = bounded * polynomial(square, DIVIDEND) / polynomial(square, DIVISOR);
    (if size > LIMIT || value > 1.0 { 1.0 } else { value }).copysign(x)
}

/// Approximates `erfc(x) * exp(x^2) * (x + MIDDLE)` for positive numbers, as a function of
/// `(x - MIDDLE) / (x + MIDDLE)`.
const SCALED: [f32; 10] = [
    -2.267_554_7e-4,
    -3.997_197_2e-4,
    1.085_738_9e-3,
    3.441_741e-3,
    -2.928_779e-3,
    -2.269_695_1e-2,
    1.622_255_5e-2,
    1.793_477_2e-1,
    -6.070_571_5e-1,
    9.974_028_5e-1,
];
const MIDDLE: f32 = 1.75;

/// Computes the complementary error function.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    const SCALE: i32 = 64;
    // Above 10.6, the result rounds to 0.
    let size = if x.abs() > 10.6 { 10.6 } else { x.abs() };
    let square = size * size;
    // The rounding error of the square.
    let lost = size.mul_add(size, -square);
    let (n, rest) = reduced(-square, lost);
    // Scaled, because the smallest results are not normal numbers and must be rounded only once.
    let power = (1.0 + rest) * two_to(n.wrapping_add(SCALE));
    // The only division: it takes as long as most of the other instructions together.
    let inverse = 1.0 / (size + MIDDLE);
    let scaled = polynomial((size - MIDDLE) * inverse, SCALED) * inverse;
    let result = power * scaled * two_to(-SCALE);
    if x < 0.0 { 2.0 - result } else { result }
}
