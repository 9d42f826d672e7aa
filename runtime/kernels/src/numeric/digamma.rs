//! The digamma function.

use std::f64::consts::PI;

/// `B_2k / 2k` for k = 1…7, where `B_2k` are the Bernoulli numbers.
const COEFFICIENTS: [f64; 7] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];

/// Computes the digamma function: the derivative of the logarithm of the gamma function.
///
/// For x ≥ 10 it uses the asymptotic expansion `log x - 1/2x - Σ B_2k / (2k x^2k)` (Abramowitz and Stegun
/// 6.3.18, DLMF 5.11.2), truncated after seven terms. The error is below the first omitted term: `3617/8160
/// x^-16` ≤ 4.5e-17. Smaller arguments are shifted up by `ψ(x) = ψ(x + 1) - 1/x` (DLMF 5.5.2), and negative
/// ones are reflected by `ψ(x) = ψ(1 - x) - π cot πx` (DLMF 5.5.4). With rounding, the error is a few units
/// in the last place of the largest term. Near the roots (1.4616… and one between adjacent negative integers)
/// this is an absolute error of 1e-15, not a relative one.
///
/// As in SciPy it is -∞ at 0, ∞ at -0, and NaN at the other poles.
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -x.recip();
    }
    if x < 0.0 {
        // The cotangent has the period 1, and the difference from the nearest integer is exact.
        let angle = x - x.round();
        let cotangent = if angle == 0.0 { f64::NAN } else { (PI * angle).tan().recip() };
        return digamma(1.0 - x) - PI * cotangent;
    }
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.recip();
        x += 1.0;
    }
    let square = (x * x).recip();
    let series = COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * square);
    x.ln() - 0.5 / x - series - below
}
