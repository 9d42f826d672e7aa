//! Discrete distributions.

use super::Numbers;
use super::distributions::{refused, store};
use super::sequence::Sequence;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{Slot, store_integers};
use crate::tensor::{View, ViewMut};

/// The mean from which counts are drawn by rejection; for smaller means, events are counted one by one.
const LARGE: f64 = 10.0;

/// Draws from Poisson distributions with the rates of the input: by multiplication (Knuth, 1969) for rates
/// below 10, otherwise by transformed rejection (Hörmann, "The transformed rejection method for generating
/// Poisson random variables", 1993).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type), and
/// [`Error::Attribute`](crate::Error::Attribute) for a rate that is negative or not finite.
pub fn poisson(out: &mut ViewMut<'_>, x: &View<'_>, seed: i64, offset: i64) -> Result<()> {
    expect_shape(x.dims(), out.dims())?;
    let rates = f64::load(x)?;
    if let Some(&wrong) = rates.iter().find(|rate| !rate.is_finite() || **rate < 0.0) {
        return Err(refused("x", wrong));
    }
    let numbers = Numbers::new(seed, offset);
    let count = |(n, &rate): (usize, &f64)| {
        let sequence = Sequence::new(numbers, n);
        if rate < LARGE { events(sequence, rate) } else { many_events(sequence, rate) }
    };
    store(out, rates.iter().enumerate().map(count))
}

/// Draws from binomial distributions: numbers of successes in `count` trials, each with the probability
/// `prob`. Uses waiting times (Devroye, "Non-Uniform Random Variate Generation", 1986) for fewer than 10
/// expected successes or failures, otherwise transformed rejection (Hörmann, "The generation of binomial
/// random variates", 1993).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type), and
/// [`Error::Attribute`](crate::Error::Attribute) for a number of trials that is negative or not finite, or a
/// probability
/// outside 0 to 1.
pub fn binomial(
    out: &mut ViewMut<'_>,
    count: &View<'_>,
    prob: &View<'_>,
    seed: i64,
    offset: i64,
) -> Result<()> {
    expect_shape(count.dims(), out.dims())?;
    expect_shape(count.dims(), prob.dims())?;
    let (counts, probabilities) = (f64::load(count)?, f64::load(prob)?);
    if let Some(&wrong) = counts.iter().find(|count| !count.is_finite() || **count < 0.0) {
        return Err(refused("count", wrong));
    }
    if let Some(&wrong) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(refused("prob", wrong));
    }
    let numbers = Numbers::new(seed, offset);
    let successes = counts.iter().zip(&probabilities).enumerate().map(|(n, (&count, &p))| {
        let (sequence, count) = (Sequence::new(numbers, n), count.floor());
        let rarer = p.min(1.0 - p);
        let found = if count * rarer < LARGE {
            successes(sequence, count, rarer)
        } else {
            many_successes(sequence, count, rarer)
        };
        (if p > 0.5 { count - found } else { found }) as i64
    });
    store_integers(out, &successes.collect::<Vec<_>>())
}

/// Counts how many factors from 0 to 1 can be multiplied before the product falls to `exp(-rate)`.
fn events(mut sequence: Sequence, rate: f64) -> f64 {
    let limit = (-rate).exp();
    let (mut product, mut count) = (sequence.positive(), 0.0);
    while product > limit {
        product *= sequence.positive();
        count += 1.0;
    }
    count
}

/// Draws from the Poisson distribution by Hörmann's algorithm PTRS.
fn many_events(mut sequence: Sequence, rate: f64) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.123_9 + 1.132_8 / (b - 3.4);
    let sure = 0.927_7 - 3.622_4 / (b - 2.0);
    loop {
        let (u, v) = (sequence.fraction() - 0.5, sequence.positive());
        let from_edge = 0.5 - u.abs();
        let count = ((2.0 * a / from_edge + b) * u + rate + 0.43).floor();
        if from_edge >= 0.07 && v <= sure {
            return count;
        }
        if count < 0.0 || (from_edge < 0.013 && v > from_edge) {
            continue;
        }
        let height = (v * inverse_alpha / (a / (from_edge * from_edge) + b)).ln();
        if height <= count * rate.ln() - rate - libm::lgamma(count + 1.0) {
            return count;
        }
    }
}

/// Counts the waiting times between successes that fit into the trials.
fn successes(mut sequence: Sequence, count: f64, p: f64) -> f64 {
    if p == 0.0 {
        return 0.0;
    }
    let (mut trials, mut found) = (0.0, 0.0);
    loop {
        trials += (sequence.positive().ln() / (-p).ln_1p()).floor() + 1.0;
        if trials > count {
            return found;
        }
        found += 1.0;
    }
}

/// Draws from the binomial distribution by Hörmann's algorithm BTRS.
fn many_successes(mut sequence: Sequence, count: f64, p: f64) -> f64 {
    let deviation = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.087_3 + 0.024_8 * b + 0.01 * p;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let sure = 0.92 - 4.2 / b;
    let mode = ((count + 1.0) * p).floor();
    let odds = (p / (1.0 - p)).ln();
    let ways = |found: f64| libm::lgamma(found + 1.0) + libm::lgamma(count - found + 1.0);
    loop {
        let (u, v) = (sequence.fraction() - 0.5, sequence.positive());
        let from_edge = 0.5 - u.abs();
        let found = ((2.0 * a / from_edge + b) * u + count * p + 0.5).floor();
        if from_edge >= 0.07 && v <= sure {
            return found;
        }
        if found < 0.0 || found > count {
            continue;
        }
        let height = (v * alpha / (a / (from_edge * from_edge) + b)).ln();
        if height <= ways(mode) - ways(found) + (found - mode) * odds {
            return found;
        }
    }
}
