//! Functions of angles.
//!
//! The division of an angle by a quarter turn is exact for angles of any size: the angle's fraction is
//! multiplied by the bits of `2^e * 2 / π`, starting at the digit of 2. There is no lookup table, because the
//! compiler could not vectorise the lookups. For angles up to [`NEAR`], quarter turns are subtracted instead,
//! which takes a third of the time.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::blocks::in_blocks;
use super::single::polynomial;

/// Rounds as the `SHIFT` of `f64` does.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// The biased exponent of 0.5. Smaller angles are not divided.
const HALF: u32 = 126;
/// The bits of `2 / π`. The first bit is the digit of 2 in `2^e * 2 / π` for the exponent [`HALF`].
const QUARTERS: [u64; 5] = [
    0x0000_0028_be60_db93,
    0x9105_4a7f_09d5_f47d,
    0x4d37_7036_d8a5_664f,
    0x10e4_107f_9458_eaf7,
    0xaef1_5840_0000_0000,
];

/// Returns the first 29 bits of `2^e * 2 / π` modulo 4, whose product with a fraction is exact, and the next
/// 52 bits.
#[inline(always)]
fn factor(exponent: u32) -> [f64; 2] {
    /// The bits of `2^52`. Combined with an integer in the lower bits, they are the bits of the sum.
    const INTEGER: u64 = 0x433 << 52;
    const LARGE: f64 = (1_u64 << 52) as f64;
    let start = u64::from(exponent.wrapping_sub(HALF));
    let [a, b, c, d, e] = QUARTERS;
    let words = if start < 64 { [a, b, c] } else { [b, c, d] };
    let [a, b, c] = if start < 128 { words } else { [c, d, e] };
    let shift = start & 63;
    let first = a << shift | b >> 1 >> (63 - shift);
    let next = b << shift | c >> 1 >> (63 - shift);
    let high = f64::from_bits(first >> 35 | INTEGER) - LARGE;
    let low = f64::from_bits((first << 29 >> 12) | next >> 47 | INTEGER) - LARGE;
    [high / (1_u64 << 27) as f64, low / (1_u128 << 79) as f64]
}

/// Returns the nearest number of quarter turns, modulo a full turn, and the remainder in radians.
#[inline(always)]
fn reduced(x: f32) -> (u32, f32) {
    let bits = x.abs().to_bits();
    let exponent = bits >> 23;
    // An integer of 24 bits.
    let fraction = f64::from((bits & 0x7f_ffff | 0x80_0000).cast_signed());
    let [high, low] = factor(exponent);
    let (high, low) = (high * fraction, low * fraction);
    let shifted = (high + low) + SHIFT;
    let rest = (high - (shifted - SHIFT)) + low;
    // NaN for infinities and NaN.
    let radians = (rest * FRAC_PI_2) as f32 + x * 0.0;
    let small = exponent < HALF;
    (if small { 0 } else { shifted.to_bits() as u32 }, if small { x.abs() } else { radians })
}

/// The largest angle for which quarter turns are subtracted: their number has 20 bits.
const NEAR: f32 = 1_048_576.0;
/// A quarter turn in two parts. The first one has 25 bits, so that its product with a number of quarter turns is exact.
const QUARTER_TURN: [f64; 2] = {
    /// The part of the quarter turn that `FRAC_PI_2` lacks.
    const REST: f64 = 6.123_233_995_736_766e-17;
    let high = f64::from_bits(FRAC_PI_2.to_bits() >> 28 << 28);
    [high, FRAC_PI_2 - high + REST]
};

/// Returns bits that order numbers by absolute value, with NaN above all others.
#[inline(always)]
fn key(x: f32) -> u32 {
    x.abs().to_bits()
}

/// Computes [`reduced`] for angles up to [`NEAR`].
#[inline(always)]
fn reduced_near(x: f32) -> (u32, f32) {
    let x = f64::from(x.abs());
    let shifted = x * FRAC_2_PI + SHIFT;
    let quarters = shifted - SHIFT;
    let rest = (x - quarters * QUARTER_TURN[0]) - quarters * QUARTER_TURN[1];
    (shifted.to_bits() as u32, rest as f32)
}

/// Computes the sine and the cosine of an angle up to an eighth of a turn.
#[inline(always)]
fn sine_and_cosine(x: f32) -> [f32; 2] {
    const SINE: [f32; 3] = [-1.951_665_6e-4, 8.332_173e-3, -1.666_665_5e-1];
    const COSINE: [f32; 3] = [2.443_773e-5, -1.388_736_2e-3, 4.166_664_6e-2];
    let z = x * x;
    [x + x * z * polynomial(z, SINE), 1.0 - (0.5 * z - z * z * polynomial(z, COSINE))]
}

/// Returns the sine of an angle after a number of quarter turns.
#[inline(always)]
fn turned(quarters: u32, x: f32) -> f32 {
    let [sine, cosine] = sine_and_cosine(x);
    let value = if quarters & 1 == 0 { sine } else { cosine };
    f32::from_bits(value.to_bits() ^ (quarters & 2) << 30)
}

#[inline(always)]
fn sine_of(x: f32, (quarters, rest): (u32, f32)) -> f32 {
    f32::from_bits(turned(quarters, rest).to_bits() ^ x.to_bits() & 1 << 31)
}

#[inline(always)]
fn cosine_of((quarters, rest): (u32, f32)) -> f32 {
    turned(quarters.wrapping_add(1), rest)
}

/// Computes the sine.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    sine_of(x, reduced(x))
}

/// Computes the cosine.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    cosine_of(reduced(x))
}

/// Computes the sines of a slice. Both slices have the same length.
#[inline(always)]
pub fn sin_all(out: &mut [f32], x: &[f32]) {
    in_blocks(
        out,
        x,
        (key, NEAR.to_bits()),
        #[inline(always)]
        |x| sine_of(x, reduced_near(x)),
        sin,
    );
}

/// Computes the cosines of a slice. Both slices have the same length.
#[inline(always)]
pub fn cos_all(out: &mut [f32], x: &[f32]) {
    in_blocks(
        out,
        x,
        (key, NEAR.to_bits()),
        #[inline(always)]
        |x| cosine_of(reduced_near(x)),
        cos,
    );
}

/// Computes the tangent.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (quarters, rest) = reduced(x);
    let [sine, cosine] = sine_and_cosine(rest);
    let odd = quarters & 1 == 1;
    let value = if odd { -cosine } else { sine } / if odd { sine } else { cosine };
    f32::from_bits(value.to_bits() ^ x.to_bits() & 1 << 31)
}
