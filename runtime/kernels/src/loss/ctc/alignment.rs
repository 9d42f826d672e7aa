//! Alignments of a sequence with its target.
//!
//! The states of an alignment are a blank before each label of the target, the label itself, and a blank
//! after the last label.

use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::simd::wide;
use crate::loops::slices::integers;
use crate::tensor::View;

/// A batch of sequences.
pub(super) struct Batch {
    pub(super) times: usize,
    pub(super) len: usize,
    pub(super) labels: usize,
    pub(super) alignments: Vec<Alignment>,
}

impl Batch {
    pub(super) fn new(
        log_probs: &[usize],
        targets: &View<'_>,
        input_lengths: &View<'_>,
        target_lengths: &View<'_>,
        blank: i64,
    ) -> Result<Self> {
        let &[times, len, labels] = log_probs else {
            return Err(Error::Rank { dims: log_probs.len(), strides: 3 });
        };
        let label = |index: i64| {
            let label = usize::try_from(index).ok().filter(|&label| label < labels);
            label.ok_or(Error::Index { index, len: labels })
        };
        let input_lengths = lengths("input_lengths", input_lengths, len, times)?;
        let blank = label(blank)?;
        let all = integers(targets)?;
        let alignment = |target: &[i64], times| {
            let labels: Vec<usize> = target.iter().map(|&index| label(index)).collect::<Result<_>>()?;
            Ok(Alignment::new(&labels, blank, times))
        };
        let mut alignments = Vec::with_capacity(len);
        match *targets.dims() {
            [batch, longest] => {
                expect_shape(&[len, longest], &[batch, longest])?;
                let target_lengths = lengths("target_lengths", target_lengths, len, longest)?;
                for (n, (&times, count)) in input_lengths.iter().zip(target_lengths).enumerate() {
                    alignments.push(alignment(&all[n * longest..][..count], times)?);
                }
            }
            [total] => {
                let target_lengths = lengths("target_lengths", target_lengths, len, total)?;
                crate::expect_length("targets", target_lengths.iter().sum(), total)?;
                let mut rest = &all[..];
                for (&times, count) in input_lengths.iter().zip(target_lengths) {
                    let (target, others) = rest.split_at(count);
                    alignments.push(alignment(target, times)?);
                    rest = others;
                }
            }
            _ => return Err(Error::Rank { dims: targets.dims().len(), strides: 2 }),
        }
        Ok(Self { times, len, labels, alignments })
    }

    /// Returns the position of a label at a time of sequence `n`.
    pub(super) fn at(&self, time: usize, n: usize, label: usize) -> usize {
        (time * self.len + n) * self.labels + label
    }

    /// Writes the gradient of a sequence, and returns its loss.
    pub(super) fn gradient<T: Float>(
        &self,
        n: usize,
        alignment: &Alignment,
        log_probs: &[T],
        gradient: &mut [T],
        dloss: T,
    ) -> T {
        let of = |time, label| log_probs[self.at(time, n, label)];
        let alpha = alignment.alpha(of);
        let loss = alignment.loss(&alpha);
        let never = T::of(f64::NEG_INFINITY);
        let mut shares = vec![never; self.labels];
        alignment.each_beta(of, |time, beta| {
            shares.fill(never);
            let alpha = &alpha[time * beta.len()..];
            for ((&label, &beta), &alpha) in alignment.labels.iter().zip(beta).zip(alpha) {
                shares[label] = log_add([shares[label], alpha + beta]);
            }
            let row = self.at(time, n, 0)..self.at(time, n, self.labels);
            let (log_probs, gradient) = (&log_probs[row.clone()], &mut gradient[row]);
            wide(
                #[inline(always)]
                || {
                    for ((gradient, &log_prob), &share) in gradient.iter_mut().zip(log_probs).zip(&shares) {
                        // Both factors of the share include the probability of the label.
                        let expected = (share + loss - log_prob).exp();
                        let is_never = share == never && loss.is_finite();
                        let expected = if is_never { T::ZERO } else { expected };
                        *gradient = (log_prob.exp() - expected) * dloss;
                    }
                },
            );
        });
        loss
    }

    /// Sets the gradient of a sequence to zero.
    pub(super) fn clear<T: Float>(&self, n: usize, gradient: &mut [T]) {
        for time in 0..self.times {
            gradient[self.at(time, n, 0)..][..self.labels].fill(T::ZERO);
        }
    }
}

/// Reads the lengths of the sequences or targets of a batch, up to a maximum.
fn lengths(name: &'static str, lengths: &View<'_>, batch: usize, most: usize) -> Result<Vec<usize>> {
    crate::expect_length(name, batch, lengths.len())?;
    let length = |number: i64| {
        let length = usize::try_from(number).ok().filter(|&length| length <= most);
        length.ok_or_else(|| Error::Attribute { name, value: number.to_string() })
    };
    integers(lengths)?.into_iter().map(length).collect()
}

/// A sequence with a number of time steps and the labels of its states.
pub(super) struct Alignment {
    times: usize,
    labels: Vec<usize>,
    /// True for a state that may directly follow the state two before it, because its label is different.
    jumps: Vec<bool>,
}

impl Alignment {
    fn new(target: &[usize], blank: usize, times: usize) -> Self {
        let mut labels = vec![blank];
        target.iter().for_each(|&label| labels.extend([label, blank]));
        let differs = |n: usize| n % 2 == 1 && n > 1 && labels[n] != labels[n - 2];
        let jumps = (0..labels.len()).map(differs).collect();
        Self { times, labels, jumps }
    }

    pub(super) fn states(&self) -> usize {
        self.labels.len()
    }

    /// Computes the logarithm of the forward probability of each time and state: the total probability of all
    /// prefixes that end in it.
    pub(super) fn alpha<T: Float>(&self, log_probs: impl Fn(usize, usize) -> T) -> Vec<T> {
        let states = self.states();
        let never = T::of(f64::NEG_INFINITY);
        let mut alpha = vec![never; self.times * states];
        for time in 0..self.times {
            let (before, row) = alpha[..(time + 1) * states].split_at_mut(time * states);
            let before = before.rchunks(states).next().unwrap_or_default();
            for (state, value) in row.iter_mut().enumerate() {
                let reached = match time {
                    0 if state < 2 => T::ZERO,
                    0 => never,
                    _ => log_add([
                        before[state],
                        if state > 0 { before[state - 1] } else { never },
                        if self.jumps[state] { before[state - 2] } else { never },
                    ]),
                };
                *value = reached + log_probs(time, self.labels[state]);
            }
        }
        alpha
    }

    /// Computes the negative logarithm of the total probability of all alignments.
    pub(super) fn loss<T: Float>(&self, alpha: &[T]) -> T {
        let never = T::of(f64::NEG_INFINITY);
        match alpha.rchunks(self.states()).next() {
            None if self.states() == 1 => T::ZERO,
            None => -never,
            Some(&[.., label, blank]) => -log_add([label, blank]),
            Some(last) => -last[0],
        }
    }

    /// Calls a function for each time step, the last one first, with the logarithm of the backward
    /// probability of each state: the total probability of all suffixes that start in it.
    fn each_beta<T: Float>(&self, log_probs: impl Fn(usize, usize) -> T, mut visit: impl FnMut(usize, &[T])) {
        let states = self.states();
        let never = T::of(f64::NEG_INFINITY);
        let mut beta = vec![never; states];
        for time in (0..self.times).rev() {
            let after = beta.clone();
            for (state, value) in beta.iter_mut().enumerate() {
                let rest = if time + 1 == self.times {
                    if state + 2 >= states { T::ZERO } else { never }
                } else {
                    let next = |step: usize| after.get(state + step).copied().unwrap_or(never);
                    let jumps = self.jumps.get(state + 2).copied().unwrap_or(false);
                    log_add([next(0), next(1), if jumps { next(2) } else { never }])
                };
                *value = rest + log_probs(time, self.labels[state]);
            }
            visit(time, &beta);
        }
    }
}

/// Computes the logarithm of a sum from the logarithms of its terms.
fn log_add<T: Float, const N: usize>(logarithms: [T; N]) -> T {
    let largest = logarithms.into_iter().fold(T::of(f64::NEG_INFINITY), T::max);
    if largest == T::of(f64::NEG_INFINITY) {
        return largest;
    }
    wide(
        #[inline(always)]
        || {
            let mut sum = T::ZERO;
            for logarithm in logarithms {
                sum += (logarithm - largest).exp();
            }
            largest + sum.log()
        },
    )
}
