//! Random permutations and samples.

use super::Numbers;
use super::distributions::scaled;
use crate::error::{Error, Result};
use crate::loops::slices::{Slot, store_integers};
use crate::tensor::{View, ViewMut};

/// Writes a random permutation of the integers from zero (inclusive) to the number of elements (exclusive).
/// All permutations are equally likely (Fisher–Yates).
///
/// # Errors
/// [`Error::Type`] if the output is complex.
pub fn randperm(out: &mut ViewMut<'_>, seed: i64, offset: i64) -> Result<()> {
    let mut values: Vec<i64> = (0..out.len() as i64).collect();
    let numbers = Numbers::new(seed, offset).bits(values.len());
    for (last, bits) in (0..values.len()).rev().zip(numbers) {
        values.swap(last, scaled(bits, last as u64 + 1) as usize);
    }
    store_integers(out, &values)
}

/// Draws indices with the probabilities given by the weights of a row, which need not sum to one. The last
/// dimension of the output is the number of indices for each row.
///
/// With `replacement`, each is the first index at which the running sum of weights exceeds `u` times their
/// sum. Without it, they are the indices of the smallest of numbers drawn from exponential distributions with
/// the weights as rates; indices with zero weight are never selected.
///
/// # Errors
/// [`Error::Shape`], [`Error::Rank`] unless there are one or two dimensions, [`Error::Type`],
/// [`Error::Attribute`] if a weight is negative or not finite, all are zero, or fewer are nonzero than are
/// drawn without replacement.
pub fn multinomial(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    replacement: bool,
    seed: i64,
    offset: i64,
) -> Result<()> {
    let (Some((&len, outer)), Some((&count, out_outer))) = (x.dims().split_last(), out.dims().split_last())
    else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 1 });
    };
    if outer.len() > 1 {
        return Err(Error::Rank { dims: x.dims().len(), strides: 2 });
    }
    if outer != out_outer {
        let expected = [outer, &[count]].concat();
        return Err(Error::Shape { expected, actual: out.dims().to_vec() });
    }
    let weights = f64::load(x)?;
    if let Some(wrong) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
        return Err(Error::Attribute { name: "x", value: wrong.to_string() });
    }
    let rows: usize = outer.iter().product();
    let used = if replacement { count } else { len };
    let fractions: Vec<f64> = Numbers::new(seed, offset).fractions(rows * used).collect();
    let mut chosen = Vec::with_capacity(rows * count);
    for row in 0..rows {
        let weights = &weights[row * len..][..len];
        let fractions = &fractions[row * used..][..used];
        let possible = weights.iter().filter(|weight| **weight > 0.0).count();
        if count > 0 && possible < if replacement { 1 } else { count } {
            return Err(Error::Attribute { name: "num_samples", value: count.to_string() });
        }
        if replacement {
            let mut sum = 0.0;
            let sums: Vec<f64> = weights.iter().map(|weight| (sum += weight, sum).1).collect();
            let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
            let places = fractions.iter().map(|u| sums.partition_point(|&below| below <= u * sum).min(last));
            chosen.extend(places.map(|place| place as i64));
        } else {
            let waits = weights.iter().zip(fractions).map(|(weight, u)| -(-u).ln_1p() / weight);
            let mut order: Vec<(f64, i64)> =
                waits.zip(0..).filter(|&(_, n)| weights[n as usize] > 0.0).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            chosen.extend(order.iter().take(count).map(|&(_, place)| place));
        }
    }
    store_integers(out, &chosen)
}
