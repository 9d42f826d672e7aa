//! The gamma distribution, and the Dirichlet distribution, which is computed from it.

use super::Numbers;
use super::distributions::{expect_float, refused, store};
use super::sequence::Sequence;
use crate::error::{Result, expect_shape};
use crate::loops::slices::Slot;
use crate::tensor::{View, ViewMut};

/// Draws from gamma distributions with the shapes of the input and the scale 1 (Marsaglia and Tsang, "A
/// simple method for generating gamma variables", 2000). The shape zero gives zero.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type), and
/// [`Error::Attribute`](crate::Error::Attribute) for a shape that is negative or not finite.
pub fn standard_gamma(out: &mut ViewMut<'_>, alpha: &View<'_>, seed: i64, offset: i64) -> Result<()> {
    expect_shape(alpha.dims(), out.dims())?;
    expect_float(out)?;
    let shapes = shapes(alpha)?;
    let numbers = Numbers::new(seed, offset);
    let values = shapes.iter().enumerate().map(|(n, &alpha)| logarithm(numbers, n, alpha).exp());
    store(out, values)
}

/// Draws from Dirichlet distributions: numbers from gamma distributions with the shapes of a row, divided by
/// their sum.
///
/// They are computed from logarithms, which do not underflow for small shapes.
///
/// # Errors
/// As [`standard_gamma`], also for a row of zeros.
pub fn dirichlet(out: &mut ViewMut<'_>, alpha: &View<'_>, seed: i64, offset: i64) -> Result<()> {
    expect_shape(alpha.dims(), out.dims())?;
    expect_float(out)?;
    let mut values = shapes(alpha)?;
    let numbers = Numbers::new(seed, offset);
    let width = alpha.dims().last().copied().unwrap_or(1);
    for (number, row) in values.chunks_exact_mut(width.max(1)).enumerate() {
        if row.iter().all(|&alpha| alpha == 0.0) {
            return Err(refused("alpha", 0.0));
        }
        let elements = row.iter_mut().enumerate();
        elements.for_each(|(n, value)| *value = logarithm(numbers, number * width + n, *value));
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|value| *value = (*value - largest).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    store(out, values.into_iter())
}

fn shapes(alpha: &View<'_>) -> Result<Vec<f64>> {
    let shapes = f64::load(alpha)?;
    match shapes.iter().find(|alpha| !alpha.is_finite() || **alpha < 0.0) {
        Some(&wrong) => Err(refused("alpha", wrong)),
        None => Ok(shapes),
    }
}

/// Draws the logarithm of a number from a gamma distribution.
///
/// For a shape below one, it draws for the shape plus one, and multiplies by a power of a uniform number.
fn logarithm(numbers: Numbers, element: usize, alpha: f64) -> f64 {
    let mut sequence = Sequence::new(numbers, element);
    if alpha == 0.0 {
        return f64::NEG_INFINITY;
    }
    let (alpha, power) =
        if alpha < 1.0 { (alpha + 1.0, sequence.positive().ln() / alpha) } else { (alpha, 0.0) };
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = sequence.normal();
        let v = (1.0 + c * x).powi(3);
        let u = sequence.positive();
        if v > 0.0 && u.ln() < x * x / 2.0 + d - d * v + d * v.ln() {
            return (d * v).ln() + power;
        }
    }
}
