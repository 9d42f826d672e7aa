//! The logarithm of the sum of the exponentials.

use super::along::resolve;
use super::rowwise;
use crate::attributes::SumAttributes;
use crate::error::Result;
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Computes the logarithm of the sum of the exponentials of the elements, without overflow.
///
/// The result for no elements, or for negative infinities only, is negative infinity, as in SciPy. Paddle
/// returns NaN for the latter.
///
/// # Errors
/// As [`sum`](crate::formulas::reduction::sum), and [`Error::Type`](crate::Error::Type) unless the tensors are
/// floating-point.
pub fn logsumexp(out: &mut ViewMut<'_>, x: &View<'_>, with: &SumAttributes<'_>) -> Result<()> {
    let SumAttributes { axis, keep_dim, reduce_all } = *with;
    let axes = resolve(out.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    rowwise(out, x, &axes, |row| {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, Numeric::max);
        if largest.is_infinite() {
            return largest;
        }
        row.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() + largest
    })
}
