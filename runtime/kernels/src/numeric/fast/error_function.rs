//! The error function and its complement.

use std::f32::consts::FRAC_2_SQRT_PI;

use super::single::{exp, polynomial};

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

/// Approximates `erfc(x) * exp(x^2) * (1 + 2 * x)`, which is between 1 and 1.3, as a function of `(x - 2) / (x + 2)`.
const SCALED: [f32; 10] = [
    -3.950_053_7e-4,
    -1.220_492_2e-3,
    1.312_291_4e-3,
    8.623_782e-3,
    -8.061_117e-3,
    -5.420_219_5e-2,
    1.640_557_3e-1,
    -1.660_316_1e-1,
    -9.276_401e-2,
    1.276_978_4,
];

/// Computes the complementary error function.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    // Above 10.6, the result rounds to 0.
    let size = if x.abs() > 10.6 { 10.6 } else { x.abs() };
    let square = size * size;
    // The rounding error of the square.
    let lost = size.mul_add(size, -square);
    let power = exp(-square);
    let power = power - power * lost;
    let result = power * (polynomial((size - 2.0) / (size + 2.0), SCALED) / (1.0 + 2.0 * size));
    if x < 0.0 { 2.0 - result } else { result }
}
