//! The common part of all normalisations: sets of elements that are normalised together, and parameters.

use crate::elements::float::Float;

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
    at: std::ops::Range<usize>,
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

    /// Sums a term of each element for each set.
    fn sums<T: Float>(&self, block: usize, sums: &mut [f64], x: &[T], term: impl Fn(usize, f64) -> f64) {
        for run in self.runs(block) {
            sums[run.set] += sum(&x[run.at], |x| term(run.set, x));
        }
    }

    /// Computes the mean and the biased variance of each set. Without `centred`, the mean is zero.
    ///
    /// Both are zero for sets without elements.
    pub(super) fn statistics<T: Float>(&self, x: &[T], centred: bool) -> [Vec<f64>; 2] {
        let samples = self.samples().max(1) as f64;
        let [mut mean, mut variance] = [0; 2].map(|_| vec![0.0; self.sets()]);
        for block in 0..self.blocks {
            let sets = block * self.sets_per_block()..(block + 1) * self.sets_per_block();
            if centred {
                self.sums(block, &mut mean, x, |_, x| x);
                mean[sets.clone()].iter_mut().for_each(|mean| *mean /= samples);
            }
            self.sums(block, &mut variance, x, |set, x| (x - mean[set]) * (x - mean[set]));
            variance[sets].iter_mut().for_each(|variance| *variance /= samples);
        }
        [mean, variance]
    }

    /// Writes `(x - mean) * reciprocal_deviation * scale + bias`.
    pub(super) fn apply<T: Float>(
        &self,
        out: &mut [T],
        x: &[T],
        statistics: Statistics<'_, T>,
        scale: Option<&[T]>,
        bias: Option<&[T]>,
    ) {
        for Run { at, set, parameter } in (0..self.blocks).flat_map(|block| self.runs(block)) {
            let (mean, factor) = statistics.of(set);
            let elements = out[at.clone()].iter_mut().zip(&x[at]);
            match self.parameters {
                Parameters::OfMiddle { .. } => {
                    let slope = factor * scale.map_or(T::ONE, |scale| scale[parameter]);
                    let bias = bias.map_or(T::ZERO, |bias| bias[parameter]);
                    elements.for_each(|(out, &x)| *out = (x - mean) * slope + bias);
                }
                Parameters::AlongRuns => {
                    let parameters = parameter..parameter + self.run;
                    let normalized = elements.map(|(out, &x)| (out, (x - mean) * factor));
                    match [scale, bias].map(|values| values.map(|values| &values[parameters.clone()])) {
                        [None, None] => normalized.for_each(|(out, x)| *out = x),
                        [Some(scale), None] => {
                            normalized.zip(scale).for_each(|((out, x), &scale)| *out = x * scale);
                        }
                        [None, Some(bias)] => {
                            normalized.zip(bias).for_each(|((out, x), &bias)| *out = x + bias);
                        }
                        [Some(scale), Some(bias)] => (normalized.zip(scale).zip(bias))
                            .for_each(|(((out, x), &scale), &bias)| *out = x * scale + bias),
                    }
                }
            }
        }
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
        let [mut sums, mut products] = [0; 2].map(|_| vec![0.0; self.sets()]);
        let samples = self.samples() as f64;
        for block in 0..self.blocks {
            for Run { at, set, parameter } in self.runs(block) {
                let (mean, deviation) = statistics.of(set);
                let terms = x[at.clone()].iter().zip(&dout[at]).map(|(&x, &dout)| {
                    let (y, dout): (f64, f64) = (((x - mean) * deviation).into(), dout.into());
                    [dout, dout * y]
                });
                let add = |[sum, product]: [f64; 2], factor: f64, [one, other]: [f64; 2]| {
                    [sum + factor * one, product + factor * other]
                };
                let mut total = [sums[set], products[set]];
                match self.parameters {
                    Parameters::OfMiddle { .. } => {
                        let run = terms.fold([0.0; 2], |sums, term| add(sums, 1.0, term));
                        bias_sums[parameter] += run[0];
                        scale_sums[parameter] += run[1];
                        total = add(total, scale.map_or(1.0, |scale| scale[parameter].into()), run);
                    }
                    Parameters::AlongRuns => {
                        for (n, term) in (parameter..).zip(terms) {
                            bias_sums[n] += term[0];
                            scale_sums[n] += term[1];
                            total = add(total, scale.map_or(1.0, |scale| scale[n].into()), term);
                        }
                    }
                }
                [sums[set], products[set]] = total;
            }
            let Some(dx) = dx.as_deref_mut() else { continue };
            for Run { at, set, parameter } in self.runs(block) {
                let (mean, deviation) = statistics.of(set);
                let part = |sum: f64, used: bool| T::of(if used && !fixed { sum / samples } else { 0.0 });
                let shift = part(sums[set], statistics.mean.is_some());
                let slope = part(products[set], true) * deviation;
                let elements = dx[at.clone()].iter_mut().zip(&x[at.clone()]).zip(&dout[at]);
                let value = |x: T, g: T| deviation * (g - shift - (x - mean) * slope);
                match (self.parameters, scale) {
                    (Parameters::AlongRuns, Some(scale)) => {
                        let scale = &scale[parameter..parameter + self.run];
                        for (((dx, &x), &dout), &scale) in elements.zip(scale) {
                            *dx = value(x, dout * scale);
                        }
                    }
                    (_, scale) => {
                        let scale = scale.map_or(T::ONE, |scale| scale[parameter]);
                        elements.for_each(|((dx, &x), &dout)| *dx = value(x, dout * scale));
                    }
                }
            }
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

/// Sums in double precision, in lanes.
fn sum<T: Float>(values: &[T], term: impl Fn(f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane += term(value.into()));
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&value| term(value.into())).sum::<f64>()
}
