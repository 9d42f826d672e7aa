//! The loss of connectionist temporal classification (Graves et al., 2006).
//!
//! The loss of a sequence is the negative logarithm of the total probability of all its alignments with the
//! target. An alignment has one label or blank at each time step. Merging repeated labels and removing blanks
//! gives the target.

mod alignment;

use alignment::{Alignment, Batch};

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{integers, lend, with_optional_slices, with_slices};
use crate::softmax::log_sum_exp;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the loss of each sequence.
///
/// `log_probs` is `[times, batch, labels]`; `targets` is `[batch, length]`, or all targets concatenated. A
/// sequence without an alignment has an infinite loss, or zero with `zero_infinity`. `log_alpha`, `[batch,
/// times, states]`, receives the logarithms of the forward probabilities: the total probability of all
/// prefixes of alignments that end in a state. The states are the labels of the target and the blanks around
/// them. Times and states that a sequence does not have are negative infinity.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] for targets that are too short or too long,
/// [`Error::Index`] for a label that does not exist, [`Error::Attribute`] for a length that is negative or
/// too large, and [`Error::Type`].
pub fn ctc_loss(
    loss: &mut ViewMut<'_>,
    log_alpha: Option<&mut ViewMut<'_>>,
    log_probs: &View<'_>,
    targets: &View<'_>,
    input_lengths: &View<'_>,
    target_lengths: &View<'_>,
    blank: i64,
    zero_infinity: bool,
) -> Result<()> {
    let batch = Batch::new(log_probs.dims(), targets, input_lengths, target_lengths, blank)?;
    expect_shape(&[batch.len], loss.dims())?;
    let states = log_alpha.as_deref().and_then(|view| view.dims().last().copied()).unwrap_or(0);
    if let Some(log_alpha) = log_alpha.as_deref() {
        let states = states.max(batch.alignments.iter().map(Alignment::states).max().unwrap_or(0));
        expect_shape(&[batch.len, batch.times, states], log_alpha.dims())?;
    }
    with_float!(log_probs.dtype(), T => {
        let outs = [Some(loss.reborrow()), lend(log_alpha)];
        with_optional_slices::<T, 2, 1>(outs, [Some(log_probs)], |[loss, log_alpha], [log_probs]| {
            let (loss, log_probs) = (loss.unwrap_or_default(), log_probs.unwrap_or_default());
            let mut known = log_alpha;
            known.iter_mut().for_each(|known| known.fill(T::NEG_INFINITY));
            for (n, alignment) in batch.alignments.iter().enumerate() {
                let alpha = alignment.alpha(|time, label| log_probs[batch.at(time, n, label)]);
                let value = alignment.loss(&alpha);
                loss[n] = if zero_infinity && value.is_infinite() { T::ZERO } else { value };
                if let Some(known) = &mut known {
                    for (time, row) in alpha.chunks_exact(alignment.states()).enumerate() {
                        known[(n * batch.times + time) * states..][..row.len()].copy_from_slice(row);
                    }
                }
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`ctc_loss`] with respect to the logits of which `log_probs` are the log-softmax.
///
/// It is `exp(log_probs)` minus the probability that an alignment has the label at that time.
///
/// Its sum over the labels is zero, so the gradient of log-softmax leaves it unchanged. A sequence with an
/// infinite loss has the gradient NaN, or zero with `zero_infinity`.
///
/// # Errors
/// As [`ctc_loss`].
pub fn ctc_loss_grad(
    dlog_probs: &mut ViewMut<'_>,
    log_probs: &View<'_>,
    targets: &View<'_>,
    input_lengths: &View<'_>,
    target_lengths: &View<'_>,
    dloss: &View<'_>,
    blank: i64,
    zero_infinity: bool,
) -> Result<()> {
    let batch = Batch::new(log_probs.dims(), targets, input_lengths, target_lengths, blank)?;
    expect_shape(log_probs.dims(), dlog_probs.dims())?;
    expect_shape(&[batch.len], dloss.dims())?;
    with_float!(log_probs.dtype(), T => {
        with_slices::<T, 1, 2>([dlog_probs.reborrow()], [log_probs, dloss], |[gradient], [log_probs, dloss]| {
            gradient.fill(T::ZERO);
            for (n, (alignment, &dloss)) in batch.alignments.iter().zip(dloss).enumerate() {
                let value = batch.gradient(n, alignment, log_probs, gradient, dloss);
                if zero_infinity && value.is_infinite() {
                    batch.clear(n, gradient);
                }
            }
            Ok(())
        })
    })
}

/// Returns the shape of the second output of [`ctc_loss_of_logits`]: that of the logits.
///
/// # Errors
/// None.
pub fn ctc_gradient_shape(
    logits: TensorMeta<'_>,
    _label: TensorMeta<'_>,
    _logits_length: Option<TensorMeta<'_>>,
    _labels_length: Option<TensorMeta<'_>>,
    _blank: i64,
) -> Result<Vec<usize>> {
    Ok(logits.dims().to_vec())
}

/// Returns the shape of the first output of [`ctc_loss_of_logits`]: one element for each sequence.
///
/// # Errors
/// [`Error::Rank`] unless the logits have three dimensions.
pub fn ctc_loss_of_logits_shape(
    logits: TensorMeta<'_>,
    _label: TensorMeta<'_>,
    _logits_length: Option<TensorMeta<'_>>,
    _labels_length: Option<TensorMeta<'_>>,
    _blank: i64,
) -> Result<Vec<usize>> {
    match *logits.dims() {
        [_, batch, _] => Ok(vec![batch, 1]),
        _ => Err(Error::Rank { dims: logits.dims().len(), strides: 3 }),
    }
}

/// Computes the loss of each sequence from logits, and its gradient with respect to them. A sequence without
/// an alignment has the loss and the gradient zero.
///
/// # Errors
/// As [`ctc_loss`], and [`Error::Missing`] without lengths.
pub fn ctc_loss_of_logits(
    loss: &mut ViewMut<'_>,
    gradient: &mut ViewMut<'_>,
    logits: &View<'_>,
    label: &View<'_>,
    logits_length: Option<&View<'_>>,
    labels_length: Option<&View<'_>>,
    blank: i64,
) -> Result<()> {
    let missing = |missing| Error::Missing { missing, because: "logits" };
    let logits_length = logits_length.ok_or_else(|| missing("logits_length"))?;
    let labels_length = labels_length.ok_or_else(|| missing("labels_length"))?;
    let batch = Batch::new(logits.dims(), label, logits_length, labels_length, blank)?;
    crate::expect_length("loss", batch.len, loss.len())?;
    expect_shape(logits.dims(), gradient.dims())?;
    with_float!(logits.dtype(), T => {
        let outs = [loss.reborrow(), gradient.reborrow()];
        with_slices::<T, 2, 1>(outs, [logits], |[loss, gradient], [logits]| {
            let log_probs = log_softmax(logits, batch.labels);
            gradient.fill(T::ZERO);
            for (n, alignment) in batch.alignments.iter().enumerate() {
                loss[n] = batch.gradient(n, alignment, &log_probs, gradient, T::ONE);
                if loss[n].is_infinite() {
                    loss[n] = T::ZERO;
                    batch.clear(n, gradient);
                }
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`ctc_loss_of_logits`] with respect to its logits.
///
/// It is `gradient`, the second output, times the gradient of the loss, and with `norm_by_times` divided by
/// the number of time steps of the sequence.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], [`Error::Missing`] and [`Error::Type`].
pub fn ctc_loss_of_logits_grad(
    dlogits: &mut ViewMut<'_>,
    logits_length: Option<&View<'_>>,
    gradient: &View<'_>,
    dloss: &View<'_>,
    norm_by_times: bool,
) -> Result<()> {
    let &[_, batch, labels] = gradient.dims() else {
        return Err(Error::Rank { dims: gradient.dims().len(), strides: 3 });
    };
    expect_shape(gradient.dims(), dlogits.dims())?;
    crate::expect_length("dloss", batch, dloss.len())?;
    let times = match logits_length {
        Some(lengths) => integers(lengths)?,
        None if norm_by_times => {
            return Err(Error::Missing { missing: "logits_length", because: "norm_by_times" });
        }
        None => vec![1; batch],
    };
    crate::expect_length("logits_length", batch, times.len())?;
    with_float!(gradient.dtype(), T => {
        with_slices::<T, 1, 2>([dlogits.reborrow()], [gradient, dloss], |[out], [gradient, dloss]| {
            let factor = |n: usize| if norm_by_times { dloss[n] / times[n] as T } else { dloss[n] };
            let factors: Vec<T> = (0..batch).map(factor).collect();
            for (place, (out, &value)) in out.iter_mut().zip(gradient).enumerate() {
                *out = value * factors[place / labels % batch];
            }
            Ok(())
        })
    })
}

fn log_softmax<T: Float>(logits: &[T], labels: usize) -> Vec<T> {
    let mut result = logits.to_vec();
    for row in result.chunks_exact_mut(labels.max(1)) {
        let [top, rest] = log_sum_exp(row);
        row.iter_mut().for_each(|value| *value = (*value - top) - rest);
    }
    result
}
