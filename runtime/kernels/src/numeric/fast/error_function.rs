//! The error function and its complement.

use super::single::{exp, polynomial};

/// Below, the function is computed as a polynomial, so that small results are exact.
const SPLIT: f32 = 0.92;
/// Approximates `erf(x) / x - 1` as a function of `x^2` below [`SPLIT`].
const SMALL: [f32; 7] = [
    8.185_094e-5,
    -8.097_703_7e-4,
    5.196_952_3e-3,
    -2.685_770_6e-2,
    1.128_366_4e-1,
    -3.761_263_2e-1,
    1.283_791_7e-1,
];
/// Approximates `-log(1 - erf(x)) / x` above it.
const LARGE: [f32; 7] =
    [1.076_315e-5, -3.180_594_6e-4, 3.622_917_7e-3, -2.372_018_4e-2, 1.061_876_1e-1, 6.351_815e-1, 1.128_641];

/// The error function.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let size = x.abs();
    let small = size + size * polynomial(size * size, SMALL);
    // Above 4, the result rounds to 1.
    let bounded = if size > 4.0 { 4.0 } else { size };
    let large = 1.0 - exp(-bounded * polynomial(bounded, LARGE));
    (if size < SPLIT { small } else { large }).copysign(x)
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

/// The complementary error function.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    // Above 10.6, the result rounds to 0.
    let size = if x.abs() > 10.6 { 10.6 } else { x.abs() };
    let square = size * size;
    // What the square lost: the product of the halves of the bits is exact.
    let high = f32::from_bits(size.to_bits() & 0xffff_f000);
    let low = size - high;
    let lost = ((high * high - square) + 2.0 * high * low) + low * low;
    let power = exp(-square);
    let power = power - power * lost;
    let result = power * (polynomial((size - 2.0) / (size + 2.0), SCALED) / (1.0 + 2.0 * size));
    if x < 0.0 { 2.0 - result } else { result }
}
