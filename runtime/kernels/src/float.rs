//! The floats that operators compute in.

use std::ops::{AddAssign, MulAssign, SubAssign};

use crate::convert::Compute;
use crate::numeric::Floating;
use crate::product::Product;
use crate::slices::Slot;

/// A float that operators compute in.
pub(crate) trait Float:
    Compute + Slot + Floating + Product + AddAssign + SubAssign + MulAssign + Into<f64>
{
    const ZERO: Self;
    const ONE: Self;
    /// The lowest finite number.
    const LOWEST: Self;

    /// Applies the exponential function to all numbers.
    fn exp_all(values: &mut [Self]) {
        values.iter_mut().for_each(|value| *value = value.exp());
    }
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;

    fn exp_all(values: &mut [Self]) {
        values.iter_mut().for_each(|value| *value = exp(*value));
    }
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::MIN;
}

/// The exponential function, without branches, so that the compiler vectorises loops. It is off by two units in the last
/// place at most.
///
/// `exp(x) = 2^n * exp(r)` with `r = x - n * ln(2)`; the polynomial for `exp(r)` is that of the Cephes library's `expf`.
fn exp(x: f32) -> f32 {
    /// Added to a small number, it leaves the nearest integer in the lowest bits.
    const SHIFT: f32 = 12_582_912.0;
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const POLYNOMIAL: [f32; 6] =
        [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    // Beyond these it is zero or infinite anyway.
    let x = if x < -105.0 { -105.0 } else { x };
    let x = if x > 90.0 { 90.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let tail = POLYNOMIAL.into_iter().fold(0.0, |sum, factor| sum * r + factor);
    let power = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32);
    // In two factors: one alone would be too small for the smallest results.
    let two_to = |n: i32| f32::from_bits((n.wrapping_add(127) << 23) as u32);
    (tail * r * r + r + 1.0) * two_to(power >> 1) * two_to(power - (power >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_function_is_exact_to_two_units() {
        for n in -1_050_000..=890_000 {
            let x = n as f32 * 1e-4;
            let wanted = f64::from(x).exp();
            // A unit in the last place, and for the smallest numbers the smallest one.
            let unit = (wanted * f64::from(f32::EPSILON)).max(f64::from(f32::from_bits(1)));
            let ours = f64::from(exp(x));
            assert!(
                (ours - wanted).abs() <= 2.0 * unit || wanted > f64::from(f32::MAX),
                "exp({x}) is {ours}"
            );
        }
        assert_eq!([f32::NEG_INFINITY, 0.0, f32::INFINITY].map(exp), [0.0, 1.0, f32::INFINITY]);
        assert!(exp(f32::NAN).is_nan() && exp(-f32::NAN).is_nan());
    }
}
