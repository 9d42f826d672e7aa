//! Powers.

use super::double::polynomial;

/// Rounds as the `SHIFT` of `f64` does.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Returns the logarithm to base 2 of a positive number. The relative error is below `2^-36`.
#[inline(always)]
fn log2(x: f64) -> f64 {
    /// Approximates `log2((1 + s) / (1 - s)) / s` as a function of `s^2`.
    const POLYNOMIAL: [f64; 5] = [
        0.340_729_751_048_402_64,
        0.411_672_737_220_735_83,
        0.577_083_584_680_433_2,
        0.961_796_673_343_171,
        2.885_390_081_790_085,
    ];
    const ROOT: i64 = std::f64::consts::FRAC_1_SQRT_2.to_bits().cast_signed();
    let bits = x.to_bits().cast_signed();
    let power = bits.wrapping_sub(ROOT) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(power << 52).cast_unsigned());
    let e = f64::from_bits((SHIFT.to_bits().cast_signed() + power).cast_unsigned()) - SHIFT;
    let s = (m - 1.0) / (m + 1.0);
    e + s * polynomial(s * s, POLYNOMIAL)
}

/// Returns `2^x` for exponents of normal numbers. The relative error is below `2^-28`.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    const POLYNOMIAL: [f64; 7] = [
        0.000_153_457_933_944_171_2,
        0.001_339_995_771_352_597_8,
        0.009_618_489_229_050_64,
        0.055_503_287_115_194_43,
        0.240_226_468_861_879_3,
        0.693_147_205_767_374_7,
        1.000_000_000_555_057_6,
    ];
    let shifted = x + SHIFT;
    let n = shifted.to_bits().wrapping_sub(SHIFT.to_bits());
    polynomial(x - (shifted - SHIFT), POLYNOMIAL) * f64::from_bits(n.wrapping_add(1023) << 52)
}

/// Computes `x` to the power of `exponent`.
#[inline(always)]
pub fn pow(x: f32, exponent: f32) -> f32 {
    let (base, power) = (f64::from(x), f64::from(exponent));
    let size = base.abs();
    let log = if size == 0.0 { f64::NEG_INFINITY } else { log2(size) };
    let log = if size == f64::INFINITY { f64::INFINITY } else { log };
    // Zero times infinity: 1 to any power is 1, and any number to the power of 0 is 1.
    let product = if size == 1.0 || power == 0.0 { 0.0 } else { log * power };
    // Outside this range, the result is zero or infinite in `f32`.
    let product = if product < -200.0 { -200.0 } else { product };
    let product = if product > 200.0 { 200.0 } else { product };
    let result = exp2(product);
    // All larger exponents are even.
    let bounded = if power.abs() > 1e9 { 1e9 } else { power };
    let shifted = bounded + SHIFT;
    let is_whole = shifted - SHIFT == bounded;
    let is_odd = is_whole && shifted.to_bits() & 1 == 1;
    let result = if base < 0.0 && size < f64::INFINITY && !is_whole { f64::NAN } else { result };
    let result = if is_odd { result.copysign(base) } else { result };
    // The base 1 and the exponent 0 take precedence over NaN.
    let is_one = x == 1.0 || exponent == 0.0;
    if is_one {
        1.0
    } else if x.is_nan() || exponent.is_nan() {
        f32::NAN
    } else {
        result as f32
    }
}
