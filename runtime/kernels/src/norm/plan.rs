//! The common part of all normalisations: sets of elements that are normalised together, and parameters.

use std::ops::Range;

use crate::elements::float::Float;
use crate::loops::lines::in_pairs;
use crate::loops::simd::wide;
use crate::threads;

/// A dense tensor as blocks of `outer × middle × run` elements, of which the last dimension is contiguous.
///
/// Sets do not span blocks. A block has one set, or one for each index of `middle`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) blocks: usize,
    pub(super) outer: usize,
    pub(super) middle: usize,
    pub(super) run: usize,
    /// True if each index of `middle` has its own set.
    pub(super) set_per_middle: bool,
    pub(super) parameters: Parameters,
}

/// The parameters that scale and shift an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameters {
    /// One for each element of a run; those of the next index of `middle` follow.
    AlongRuns,
    /// One for each index of `middle`, for each of `groups` groups, which successive blocks use in turn.
    OfMiddle { groups: usize },
}

/// The position of a run, and its set.
struct Run {
    at: Range<usize>,
    set: usize,
    parameter: usize,
}

/// The statistics that normalise the sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statistics<'a, T> {
    /// Zero if absent.
    pub(super) mean: Option<&'a [T]>,
    pub(super) reciprocal_deviation: &'a [T],
}

/// The gradient of a normalisation, with only the requested parts.
#[derive(Debug)]
pub(super) struct Gradient<'a, T> {
    pub(super) x: Option<&'a mut [T]>,
    pub(super) scale: Option<&'a mut [T]>,
    pub(super) bias: Option<&'a mut [T]>,
}

impl Plan {
    pub(super) fn sets(&self) -> usize {
        self.blocks * self.sets_per_block()
    }

    /// Returns the number of elements of each set.
    pub(super) fn samples(&self) -> usize {
        self.outer * self.run * if self.set_per_middle { 1 } else { self.middle }
    }

    pub(super) fn parameter_count(&self) -> usize {
        match self.parameters {
            Parameters::AlongRuns => self.middle * self.run,
            Parameters::OfMiddle { groups } => self.middle * groups,
        }
    }

    fn sets_per_block(&self) -> usize {
        if self.set_per_middle { self.middle } else { 1 }
    }

    fn runs(&self, block: usize) -> impl Iterator<Item = Run> + use<> {
        let plan = *self;
        (0..plan.outer * plan.middle).map(move |number| {
            let start = (block * plan.outer * plan.middle + number) * plan.run;
            let middle = number % plan.middle;
            Run {
                at: start..start + plan.run,
                set: block * plan.sets_per_block() + if plan.set_per_middle { middle } else { 0 },
                parameter: match plan.parameters {
                    Parameters::AlongRuns => middle * plan.run,
                    Parameters::OfMiddle { groups } => block % groups * plan.middle + middle,
                },
            }
        })
    }

    /// Computes the mean and the biased variance of each set. Without `centred`, the mean is zero.
    ///
    /// Both are zero for sets without elements.
    pub(super) fn statistics<T: Float>(&self, x: &[T], centred: bool) -> [Vec<f64>; 2] {
        let in_block = self.sets_per_block().max(1);
        let mut statistics = vec![[0.0; 2]; self.sets()];
        threads::split(x.len() * threads::ELEMENT, &mut statistics, in_block, |first, sets| {
            for (number, sets) in sets.chunks_exact_mut(in_block).enumerate() {
                self.statistics_of(first / in_block + number, x, centred, sets);
            }
        });
        [0, 1].map(|n| statistics.iter().map(|statistics| statistics[n]).collect())
    }

    /// Computes the mean and the variance of each set of a block.
    fn statistics_of<T: Float>(&self, block: usize, x: &[T], centred: bool, sets: &mut [[f64; 2]]) {
        let samples = self.samples().max(1) as f64;
        let first = block * self.sets_per_block();
        if centred {
            wide(
                #[inline(always)]
                || {
                    for run in self.runs(block) {
                        let [total] = sums(
                            [&x[run.at]],
                            #[inline(always)]
                            |[x]| [x.into()],
                        );
                        sets[run.set - first][0] += total;
                    }
                },
            );
            sets.iter_mut().for_each(|[mean, _]| *mean /= samples);
        }
        wide(
            #[inline(always)]
            || {
                for run in self.runs(block) {
                    let [mean, variance] = &mut sets[run.set - first];
                    let mean = *mean;
                    let square = |[x]: [T; 1]| {
                        let difference = x.into() - mean;
                        [difference * difference]
                    };
                    let [total] = sums([&x[run.at]], square);
                    *variance += total;
                }
            },
        );
        sets.iter_mut().for_each(|[_, variance]| *variance /= samples);
    }

    /// Writes `(x - mean) * reciprocal_deviation * scale + bias`.
    pub(super) fn apply<'v, T: Float>(
        &self,
        out: &mut [T],
        x: &[T],
        statistics: Statistics<'_, T>,
        scale: Option<&'v [T]>,
        bias: Option<&'v [T]>,
    ) {
        let block = (self.outer * self.middle * self.run).max(1);
        threads::split(out.len() * threads::ELEMENT, out, block, |start, out| {
            let blocks = start / block..(start + out.len()) / block;
            self.apply_to(blocks, out, x, statistics, [scale, bias]);
        });
    }

    /// Writes the elements of some blocks.
    fn apply_to<'v, T: Float>(
        &self,
        blocks: Range<usize>,
        out: &mut [T],
        x: &[T],
        statistics: Statistics<'_, T>,
        [scale, bias]: [Option<&'v [T]>; 2],
    ) {
        let start = blocks.start * self.outer * self.middle * self.run;
        wide(
            #[inline(always)]
            || {
                for Run { at, set, parameter } in blocks.flat_map(|block| self.runs(block)) {
                    let (mean, factor) = statistics.of(set);
                    let (out, x) = (&mut out[at.start - start..at.end - start], &x[at]);
                    match self.parameters {
                        Parameters::OfMiddle { .. } => {
                            let slope = factor * scale.map_or(T::ONE, |scale| scale[parameter]);
                            let bias = bias.map_or(T::ZERO, |bias| bias[parameter]);
                            for (out, &x) in out.iter_mut().zip(x) {
                                *out = (x - mean) * slope + bias;
                            }
                        }
                        Parameters::AlongRuns => {
                            let along = |values: Option<&'v [T]>| values.map(|values| &values[parameter..]);
                            let elements = out.iter_mut().zip(x);
                            match [along(scale), along(bias)] {
                                [None, None] => {
                                    for (out, &x) in elements {
                                        *out = (x - mean) * factor;
                                    }
                                }
                                [Some(scale), None] => {
                                    for ((out, &x), &scale) in elements.zip(scale) {
                                        *out = (x - mean) * factor * scale;
                                    }
                                }
                                [None, Some(bias)] => {
                                    for ((out, &x), &bias) in elements.zip(bias) {
                                        *out = (x - mean) * factor + bias;
                                    }
                                }
                                [Some(scale), Some(bias)] => {
                                    for (((out, &x), &scale), &bias) in elements.zip(scale).zip(bias) {
                                        *out = (x - mean) * factor * scale + bias;
                                    }
                                }
                            }
                        }
                    }
                }
            },
        );
    }

    /// Computes the gradient of [`apply`](Self::apply). The statistics are functions of `x`, unless they are `fixed`.
    ///
    /// With `n` samples in a set, `y = (x - mean) * reciprocal_deviation` and `g = dout * scale`, it is `dx =
    /// reciprocal_deviation * (g - sum(g) / n - y * sum(g * y) / n)`. Without a mean, the first sum is
    /// omitted.
    pub(super) fn gradient<T: Float>(
        &self,
        gradient: Gradient<'_, T>,
        x: &[T],
        dout: &[T],
        statistics: Statistics<'_, T>,
        scale: Option<&[T]>,
        fixed: bool,
    ) {
        let Gradient { x: mut dx, scale: dscale, bias: dbias } = gradient;
        let [mut scale_sums, mut bias_sums] = [0; 2].map(|_| vec![0.0; self.parameter_count()]);
        let [mut sums_of_sets, mut products] = [0; 2].map(|_| vec![0.0; self.sets()]);
        let samples = self.samples() as f64;
        for block in 0..self.blocks {
            wide(
                #[inline(always)]
                || {
                    for Run { at, set, parameter } in self.runs(block) {
                        let (mean, deviation) = statistics.of(set);
                        let (x, dout) = (&x[at.clone()], &dout[at]);
                        let terms = |x: T, dout: T| {
                            let (y, dout): (f64, f64) = (((x - mean) * deviation).into(), dout.into());
                            [dout, dout * y]
                        };
                        let [sum, product] = match self.parameters {
                            Parameters::OfMiddle { .. } => {
                                let run = sums(
                                    [x, dout],
                                    #[inline(always)]
                                    |[x, dout]| terms(x, dout),
                                );
                                bias_sums[parameter] += run[0];
                                scale_sums[parameter] += run[1];
                                let factor = scale.map_or(1.0, |scale| scale[parameter].into());
                                run.map(|sum| factor * sum)
                            }
                            Parameters::AlongRuns => {
                                let targets =
                                    bias_sums[parameter..].iter_mut().zip(&mut scale_sums[parameter..]);
                                for ((&x, &dout), (bias, scale)) in x.iter().zip(dout).zip(targets) {
                                    let [one, other] = terms(x, dout);
                                    *bias += one;
                                    *scale += other;
                                }
                                match scale {
                                    None => sums(
                                        [x, dout],
                                        #[inline(always)]
                                        |[x, dout]| terms(x, dout),
                                    ),
                                    Some(scale) => sums(
                                        [x, dout, &scale[parameter..][..self.run]],
                                        #[inline(always)]
                                        |[x, dout, scale]| terms(x, dout).map(|term| scale.into() * term),
                                    ),
                                }
                            }
                        };
                        sums_of_sets[set] += sum;
                        products[set] += product;
                    }
                },
            );
            let Some(dx) = dx.as_deref_mut() else { continue };
            wide(
                #[inline(always)]
                || {
                    for Run { at, set, parameter } in self.runs(block) {
                        let (mean, deviation) = statistics.of(set);
                        let part =
                            |sum: f64, used: bool| T::of(if used && !fixed { sum / samples } else { 0.0 });
                        let shift = part(sums_of_sets[set], statistics.mean.is_some());
                        let slope = part(products[set], true) * deviation;
                        let elements = dx[at.clone()].iter_mut().zip(&x[at.clone()]).zip(&dout[at]);
                        let value = |x: T, g: T| deviation * (g - shift - (x - mean) * slope);
                        match (self.parameters, scale) {
                            (Parameters::AlongRuns, Some(scale)) => {
                                for (((dx, &x), &dout), &scale) in elements.zip(&scale[parameter..]) {
                                    *dx = value(x, dout * scale);
                                }
                            }
                            (_, scale) => {
                                let scale = scale.map_or(T::ONE, |scale| scale[parameter]);
                                for ((dx, &x), &dout) in elements {
                                    *dx = value(x, dout * scale);
                                }
                            }
                        }
                    }
                },
            );
        }
        for (target, sums) in [(dscale, scale_sums), (dbias, bias_sums)] {
            if let Some(target) = target {
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target = T::of(sum));
            }
        }
    }
}

impl<T: Float> Statistics<'_, T> {
    fn of(&self, set: usize) -> (T, T) {
        (self.mean.map_or(T::ZERO, |mean| mean[set]), self.reciprocal_deviation[set])
    }
}

/// The number of partial sums of long lines. The compiler does not unroll a loop of this length, and vectorises it
/// for the widest vectors; of shorter loops, it vectorises two sums at a time.
const MANY_LANES: usize = 128;

/// The number of partial sums of short lines.
const LANES: usize = 16;

/// Sums `M` terms of the elements of lines of equal length, in double precision and in lanes.
#[inline(always)]
fn sums<T: Float, const M: usize, const N: usize>(
    lines: [&[T]; N],
    terms: impl Fn([T; N]) -> [f64; M] + Copy,
) -> [f64; M] {
    let mut totals = [0.0; M];
    let mut done = 0;
    if lines[0].len() >= MANY_LANES {
        done = sum_chunks::<T, M, N, MANY_LANES>(&mut totals, lines, terms);
    }
    let mut left = lines;
    for k in 0..N {
        left[k] = &lines[k][done..];
    }
    done = sum_chunks::<T, M, N, LANES>(&mut totals, left, terms);
    let at = |index: usize| terms(std::array::from_fn(|k| left[k][index]));
    for index in done..left[0].len() {
        let values = at(index);
        for m in 0..M {
            totals[m] += values[m];
        }
    }
    totals
}

/// Adds the terms of all whole chunks of `L` elements. Returns the number of elements in them.
///
/// The loops over lines do not use iterators, whose closures may not be inlined.
#[inline(always)]
fn sum_chunks<T: Float, const M: usize, const N: usize, const L: usize>(
    totals: &mut [f64; M],
    lines: [&[T]; N],
    terms: impl Fn([T; N]) -> [f64; M] + Copy,
) -> usize {
    let count = lines[0].len() / L;
    let parts = lines.map(|line| line[..count * L].as_chunks::<L>().0);
    let zeros = [T::ZERO; L];
    let mut lanes = [[0.0; L]; M];
    let mut number = 0;
    while number < count {
        let mut chunks = [&zeros; N];
        for k in 0..N {
            chunks[k] = &parts[k][number];
        }
        for n in 0..L {
            let mut values = [T::ZERO; N];
            for k in 0..N {
                values[k] = chunks[k][n];
            }
            let values = terms(values);
            for m in 0..M {
                lanes[m][n] += values[m];
            }
        }
        number += 1;
    }
    for m in 0..M {
        totals[m] += in_pairs(
            lanes[m],
            #[inline(always)]
            |a, b| a + b,
        );
    }
    count * L
}
