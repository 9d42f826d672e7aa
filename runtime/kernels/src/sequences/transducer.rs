//! The loss of recurrent neural network transducers (Graves, 2012).
//!
//! An alignment is a path through a grid of times and places in the target: a blank goes to the next time, and a label
//! to the next place. The loss is the negative logarithm of the sum of the probabilities of all paths.

use super::lengths;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, integers, with_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the losses of [`rnnt_loss`].
///
/// # Errors
/// As [`rnnt_loss`].
pub fn rnnt_loss_shape(
    input: TensorMeta<'_>,
    _label: TensorMeta<'_>,
    _input_lengths: TensorMeta<'_>,
    _label_lengths: TensorMeta<'_>,
    _blank: i64,
    _fastemit_lambda: f64,
) -> Result<Vec<usize>> {
    Ok(vec![sizes(input.dims())?[0]])
}

/// Computes the shape of the gradient of [`rnnt_loss`].
///
/// # Errors
/// As [`rnnt_loss`].
pub fn rnnt_gradient_shape(
    input: TensorMeta<'_>,
    _label: TensorMeta<'_>,
    _input_lengths: TensorMeta<'_>,
    _label_lengths: TensorMeta<'_>,
    _blank: i64,
    _fastemit_lambda: f64,
) -> Result<Vec<usize>> {
    Ok(sizes(input.dims())?.to_vec())
}

/// Computes the loss of each sequence, and its gradient with respect to the logarithms of probabilities, `[batch, times,
/// length + 1, labels]`. The gradient of labels that are not blank is multiplied by `1 + fastemit_lambda` (Yu et al.,
/// "FastEmit", 2021).
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a label that does not exist or a length that is too long,
/// [`Error::Empty`] for a sequence without times, and [`Error::Type`].
pub fn rnnt_loss(
    loss: &mut ViewMut<'_>,
    gradient: &mut ViewMut<'_>,
    input: &View<'_>,
    label: &View<'_>,
    input_lengths: &View<'_>,
    label_lengths: &View<'_>,
    blank: i64,
    fastemit_lambda: f64,
) -> Result<()> {
    let [batch, times, places, labels] = sizes(input.dims())?;
    let longest = places.checked_sub(1).ok_or(Error::Empty)?;
    expect_shape(&[batch, longest], label.dims())?;
    expect_shape(&[batch], loss.dims())?;
    expect_shape(input.dims(), gradient.dims())?;
    let (of_inputs, of_labels) =
        (lengths(input_lengths, batch, times)?, lengths(label_lengths, batch, longest)?);
    if of_inputs.contains(&0) {
        return Err(Error::Empty);
    }
    let targets = integers(label)?;
    let known = |index: i64| {
        let found = usize::try_from(index).ok().filter(|&label| label < labels);
        found.ok_or(Error::Index { index, len: labels })
    };
    let blank = known(blank)?;
    let (mut losses, mut slopes) = (vec![], vec![0.0; input.len()]);
    {
        let numbers = elements::<f64>(input)?;
        for n in 0..batch {
            let target = targets[n * longest..][..of_labels[n]].iter().map(|&label| known(label));
            let target = target.collect::<Result<Vec<usize>>>()?;
            let own = n * times * places * labels..(n + 1) * times * places * labels;
            let (numbers, slopes) = (&numbers[own.clone()], &mut slopes[own]);
            let grid = Grid { numbers, target: &target, times: of_inputs[n], places, labels, blank };
            losses.push(grid.loss(slopes, 1.0 + fastemit_lambda));
        }
    }
    <f64 as Slot>::store(loss, &losses)?;
    <f64 as Slot>::store(gradient, &slopes)
}

/// Computes the gradient of [`rnnt_loss`] from the gradient of each loss.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], and [`Error::Type`].
pub fn rnnt_loss_grad(dinput: &mut ViewMut<'_>, gradient: &View<'_>, dloss: &View<'_>) -> Result<()> {
    let [batch, times, places, labels] = sizes(gradient.dims())?;
    expect_shape(gradient.dims(), dinput.dims())?;
    expect_shape(&[batch], dloss.dims())?;
    let len = (times * places * labels).max(1);
    with_float!(gradient.dtype(), T => {
        with_slices::<T, 1, 2>([dinput.reborrow()], [gradient, dloss], |[dinput], [gradient, dloss]| {
            let rows = dinput.chunks_mut(len).zip(gradient.chunks(len)).zip(dloss);
            for ((dinput, gradient), dloss) in rows {
                dinput.iter_mut().zip(gradient).for_each(|(slope, gradient)| *slope = gradient * dloss);
            }
            Ok(())
        })
    })
}

fn sizes(dims: &[usize]) -> Result<[usize; 4]> {
    dims.try_into().map_err(|_| Error::Rank { dims: dims.len(), strides: 4 })
}

/// The logarithms of the probabilities of a sequence.
struct Grid<'g> {
    numbers: &'g [f64],
    target: &'g [usize],
    times: usize,
    /// The number of places in memory, which may be more than those of the target.
    places: usize,
    labels: usize,
    blank: usize,
}

impl Grid<'_> {
    fn index(&self, time: usize, place: usize, label: usize) -> usize {
        (time * self.places + place) * self.labels + label
    }

    /// Returns the logarithm of the probability of the blank, and that of the next label if there is one.
    fn steps(&self, time: usize, place: usize) -> (f64, Option<f64>) {
        let label = self.target.get(place).map(|&label| self.numbers[self.index(time, place, label)]);
        (self.numbers[self.index(time, place, self.blank)], label)
    }

    /// Returns the logarithm of the probability of what follows a blank: nothing at the end, and no path at the last
    /// time before it.
    fn after_blank(&self, from: &[f64], time: usize, place: usize) -> f64 {
        let width = self.target.len() + 1;
        match (time + 1 == self.times, place + 1 == width) {
            (true, true) => 0.0,
            (true, false) => f64::NEG_INFINITY,
            (false, _) => from[(time + 1) * width + place],
        }
    }

    /// Returns the loss, and writes its gradient. The gradient of labels is multiplied by a factor.
    fn loss(&self, slopes: &mut [f64], factor: f64) -> f64 {
        let (width, last) = (self.target.len() + 1, self.times - 1);
        let at = |time: usize, place: usize| time * width + place;
        // The logarithms of the sums of the probabilities of all paths to a point, and from it on.
        let mut to = vec![f64::NEG_INFINITY; self.times * width];
        let mut from = to.clone();
        to[0] = 0.0;
        for time in 0..self.times {
            for place in 0..width {
                let (blank, label) = self.steps(time, place);
                let here = to[at(time, place)];
                if time < last {
                    let next = &mut to[at(time + 1, place)];
                    *next = add_logs(*next, here + blank);
                }
                if let Some(label) = label {
                    let next = &mut to[at(time, place + 1)];
                    *next = add_logs(*next, here + label);
                }
            }
        }
        for time in (0..self.times).rev() {
            for place in (0..width).rev() {
                let (blank, label) = self.steps(time, place);
                let after_label = label.map_or(f64::NEG_INFINITY, |label| from[at(time, place + 1)] + label);
                from[at(time, place)] = add_logs(blank + self.after_blank(&from, time, place), after_label);
            }
        }
        let all = from[0];
        for time in 0..self.times {
            for place in 0..width {
                let (blank, label) = self.steps(time, place);
                let here = to[at(time, place)] - all;
                let step = (here + blank + self.after_blank(&from, time, place)).exp();
                slopes[self.index(time, place, self.blank)] -= step;
                if let (Some(label), Some(&number)) = (label, self.target.get(place)) {
                    let step = (here + label + from[at(time, place + 1)]).exp();
                    slopes[self.index(time, place, number)] -= factor * step;
                }
            }
        }
        -all
    }
}

/// Computes the logarithm of the sum of two exponentials.
fn add_logs(a: f64, b: f64) -> f64 {
    let top = a.max(b);
    if top == f64::NEG_INFINITY { top } else { top + ((a - top).exp() + (b - top).exp()).ln() }
}
