//! Tensors of random numbers.

use crate::attributes::{TruncatedGaussianAttributes, UniformAttributes};
use std::f64::consts::TAU;

use super::Numbers;
use super::philox::fraction;
use super::quantile::{probability, quantile};
use crate::elements::dtype::DType;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, store_integers};
use crate::tensor::{View, ViewMut};

pub(super) fn expect_float(out: &ViewMut<'_>) -> Result<()> {
    if out.dtype().is_float() { Ok(()) } else { Err(Error::Type { dtype: out.dtype() }) }
}

pub(super) fn refused(name: &'static str, value: f64) -> Error {
    Error::Attribute { name, value: value.to_string() }
}

/// Draws uniformly distributed numbers from `min` (inclusive) to `max` (exclusive): `min + (max - min) * u`,
/// where `u` is made of as many of the highest bits as the precision of the type.
///
/// # Errors
/// [`Error::Type`] unless the output is floating-point.
pub fn uniform(out: &mut ViewMut<'_>, min: f64, max: f64, seed: i64, offset: i64) -> Result<()> {
    expect_float(out)?;
    let bits = match out.dtype() {
        DType::F16 => 11,
        DType::Bf16 => 8,
        DType::F32 => 24,
        _ => 53,
    };
    let numbers = Numbers::new(seed, offset).bits(out.len());
    store(out, numbers.map(|number| min + (max - min) * fraction(number, bits)))
}

/// Draws as [`uniform`] does, then sets `diag_num` elements to a value: element `n * (diag_step + 1)` in
/// row-major order for each `n`.
///
/// # Errors
/// As [`uniform`], and [`Error::Index`] if there are fewer elements.
pub fn uniform_with_diagonal(
    out: &mut ViewMut<'_>,
    with: &UniformAttributes,
    seed: i64,
    offset: i64,
) -> Result<()> {
    let UniformAttributes { min, max, diag_num, diag_step, diag_val } = *with;
    uniform(out, min, max, seed, offset)?;
    let (len, dims) = (out.len(), out.dims().to_vec());
    for n in 0..diag_num {
        let index = diag_step.saturating_add(1).saturating_mul(n);
        let mut rest =
            usize::try_from(index).ok().filter(|&at| at < len).ok_or(Error::Index { index, len })?;
        let mut element = out.reborrow();
        for axis in 0..dims.len() {
            let inner: usize = dims[axis + 1..].iter().product();
            element = element.select(0, rest / inner)?;
            rest %= inner;
        }
        movement::fill(&mut element, diag_val)?;
    }
    Ok(())
}

pub(super) fn store(out: &mut ViewMut<'_>, values: impl Iterator<Item = f64>) -> Result<()> {
    f64::store(out, &values.collect::<Vec<_>>())
}

/// Draws from the normal distribution by the Box–Muller method: for the fractions `u` and `v` of a block,
/// `sqrt(-2 * log(1 - u))` times the cosine, and the sine, of `2 * pi * v`.
///
/// # Errors
/// As [`uniform`].
pub fn gaussian(out: &mut ViewMut<'_>, mean: f64, std: f64, seed: i64, offset: i64) -> Result<()> {
    expect_float(out)?;
    let numbers = Numbers::new(seed, offset);
    let values = (0..out.len().div_ceil(2)).flat_map(|block| {
        let [u, v] = numbers.pair(block).map(|bits| fraction(bits, 53));
        let (radius, angle) = ((-2.0 * (1.0 - u).ln()).sqrt(), TAU * v);
        [radius * angle.cos(), radius * angle.sin()]
    });
    let len = out.len();
    store(out, values.take(len).map(|value| mean + std * value))
}

/// Draws from the normal distribution truncated to the range from `a` to `b`, by its quantile function.
///
/// # Errors
/// As [`uniform`], and [`Error::Attribute`] unless `a` is below `b` and `std` is positive.
pub fn truncated_gaussian(
    out: &mut ViewMut<'_>,
    with: &TruncatedGaussianAttributes,
    seed: i64,
    offset: i64,
) -> Result<()> {
    let TruncatedGaussianAttributes { mean, std, a, b } = *with;
    expect_float(out)?;
    if std <= 0.0 || std.is_nan() {
        return Err(refused("std", std));
    }
    if a >= b || a.is_nan() || b.is_nan() {
        return Err(refused("b", b));
    }
    // Computed in the lower half, where probabilities are precise.
    let (low, high) = ((a - mean) / std, (b - mean) / std);
    let mirrored = low > 0.0;
    let (from, to) = if mirrored { (-high, -low) } else { (low, high) };
    let (first, last) = (probability(from), probability(to));
    let numbers = Numbers::new(seed, offset).fractions(out.len());
    let values = numbers.map(|u| {
        let value = quantile(first + (last - first) * u).clamp(from, to);
        (mean + std * if mirrored { -value } else { value }).clamp(a, b)
    });
    store(out, values)
}

/// Draws from the exponential distribution: `-log(1 - u) / lambda`.
///
/// # Errors
/// As [`uniform`], and [`Error::Attribute`] unless `lambda` is positive.
pub fn exponential(out: &mut ViewMut<'_>, lambda: f64, seed: i64, offset: i64) -> Result<()> {
    expect_float(out)?;
    if lambda <= 0.0 || lambda.is_nan() {
        return Err(refused("lambda", lambda));
    }
    let numbers = Numbers::new(seed, offset).fractions(out.len());
    store(out, numbers.map(|u| -(-u).ln_1p() / lambda))
}

/// Draws from Bernoulli distributions: one with the probability in the input, and zero otherwise.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if a type is complex, [`Error::Attribute`] if a probability is outside 0
/// to 1.
pub fn bernoulli(out: &mut ViewMut<'_>, x: &View<'_>, seed: i64, offset: i64) -> Result<()> {
    expect_shape(out.dims(), x.dims())?;
    let probabilities = f64::load(x)?;
    if let Some(&wrong) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(refused("x", wrong));
    }
    let numbers = Numbers::new(seed, offset).fractions(out.len());
    store(out, numbers.zip(probabilities).map(|(u, p)| f64::from(u8::from(u < p))))
}

/// Draws integers from `low` (inclusive) to `high` (exclusive): `low` plus the high half of the product of a
/// random number and `high - low`.
///
/// # Errors
/// [`Error::Attribute`] unless `low` is below `high`, [`Error::Type`] if the output is complex.
pub fn randint(out: &mut ViewMut<'_>, low: i64, high: i64, seed: i64, offset: i64) -> Result<()> {
    if low >= high {
        return Err(Error::Attribute { name: "high", value: high.to_string() });
    }
    let range = high.wrapping_sub(low).cast_unsigned();
    let numbers = Numbers::new(seed, offset).bits(out.len());
    let values = numbers.map(|bits| low.wrapping_add(scaled(bits, range).cast_signed()));
    store_integers(out, &values.collect::<Vec<_>>())
}

/// Scales random bits to an integer below a limit.
pub(super) fn scaled(bits: u64, limit: u64) -> u64 {
    ((u128::from(bits) * u128::from(limit)) >> 64) as u64
}
