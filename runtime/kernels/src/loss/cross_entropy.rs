//! Cross entropy of logits and labels.
//!
//! `logits` has the classes along one dimension. A hard label is one integer for each line of logits: `label`
//! has the shape of the logits without that dimension, or with the length one for it. A soft label is a
//! probability for each logit. `loss` has the shape of the logits with the length one for the dimension of
//! the classes.

use crate::attributes::CrossEntropyWithSoftmaxAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::lines::each_line;
use crate::loops::slices::{lend, with_optional_slices, with_slices};
use crate::loss::classes;
use crate::numeric::Floating;
use crate::softmax::{log_sum_exp, softmax_line};
use crate::tensor::axis::{Around, axis_or_scalar};
use crate::tensor::{View, ViewMut};

/// Computes the softmax and the loss: `-log(softmax(logits)[label])` for each hard label, or `-sum(label *
/// log(softmax(logits)))` for soft labels.
///
/// The loss of an ignored label is zero. A soft label of zero adds nothing, whatever the logit. Without
/// `use_softmax`, the logits are already probabilities, and `softmax` becomes a copy of them.
///
/// The loss is computed from the logits and not from the rounded softmax. Where PaddlePaddle's CPU kernel
/// returns 1e20, because a probability was rounded to zero, this function returns the exact loss. The
/// logarithm of a probability of zero is negative infinity.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Index`] for a label that is not a class, and [`Error::Type`].
pub fn cross_entropy_with_softmax(
    softmax: Option<&mut ViewMut<'_>>,
    loss: Option<&mut ViewMut<'_>>,
    logits: &View<'_>,
    label: &View<'_>,
    with: &CrossEntropyWithSoftmaxAttributes,
) -> Result<()> {
    let CrossEntropyWithSoftmaxAttributes { soft_label, use_softmax, ignore_index, axis } = *with;
    let shape = Classes::new(logits.dims(), axis)?;
    expect_shape(logits.dims(), softmax.as_deref().map_or(logits.dims(), ViewMut::dims))?;
    expect_shape(&shape.loss, loss.as_deref().map_or(&shape.loss[..], ViewMut::dims))?;
    shape.expect_label(logits.dims(), label, soft_label)?;
    with_float!(logits.dtype(), T => {
        let label = Label::<T>::new(label, shape.around.len, soft_label, ignore_index)?;
        with_optional_slices::<T, 2, 1>([lend(softmax), lend(loss)], [Some(logits)], |[mut softmax, mut loss], [logits]| {
            let logits = logits.unwrap_or_default();
            if let (Some(softmax), Some(loss), Label::Hard(classes), true) = (&mut softmax, &mut loss, &label, use_softmax) {
                // Computes both from the same exponentials.
                let mut lines = loss.iter_mut().zip(classes);
                each_line(shape.around, softmax, [logits], |softmax, [logits]| {
                    let [top, total] = softmax_line(softmax, logits);
                    if let Some((loss, class)) = lines.next() {
                        *loss = class.map_or(T::ZERO, |class| Floating::log(total) - (logits[class] - top));
                    }
                });
                return Ok(());
            }
            if let Some(softmax) = softmax {
                each_line(shape.around, softmax, [logits], |softmax, [logits]| if use_softmax {
                    softmax_line(softmax, logits);
                } else { softmax.copy_from_slice(logits) });
            }
            if let Some(loss) = loss {
                shape.losses(loss, logits, &label, use_softmax);
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`cross_entropy_with_softmax`] with respect to its logits, from its softmax.
///
/// With `use_softmax` it is `(softmax - label) * dloss`, which assumes that soft labels sum to one. Otherwise
/// it is `-label / softmax * dloss`. For a hard label, `label` is one for its class and zero for the others.
/// The gradient of an ignored label is zero.
///
/// # Errors
/// As [`cross_entropy_with_softmax`].
pub fn cross_entropy_with_softmax_grad(
    dlogits: &mut ViewMut<'_>,
    label: &View<'_>,
    softmax: &View<'_>,
    dloss: &View<'_>,
    with: &CrossEntropyWithSoftmaxAttributes,
) -> Result<()> {
    let CrossEntropyWithSoftmaxAttributes { soft_label, use_softmax, ignore_index, axis } = *with;
    let shape = Classes::new(softmax.dims(), axis)?;
    expect_shape(softmax.dims(), dlogits.dims())?;
    expect_shape(&shape.loss, dloss.dims())?;
    shape.expect_label(softmax.dims(), label, soft_label)?;
    with_float!(softmax.dtype(), T => {
        let label = Label::<T>::new(label, shape.around.len, soft_label, ignore_index)?;
        with_slices::<T, 1, 2>([dlogits.reborrow()], [softmax, dloss], |[dlogits], [softmax, dloss]| {
            let mut line = 0;
            if let (Label::Hard(classes), true) = (&label, use_softmax) {
                let mut lines = classes.iter().zip(dloss);
                each_line(shape.around, dlogits, [softmax], |dlogits, [softmax]| {
                    let Some((class, &dloss)) = lines.next() else { return };
                    let Some(class) = *class else { return dlogits.fill(T::ZERO) };
                    dlogits.iter_mut().zip(softmax).for_each(|(dx, &softmax)| *dx = softmax * dloss);
                    dlogits[class] = (softmax[class] - T::ONE) * dloss;
                });
                return Ok(());
            }
            each_line(shape.around, dlogits, [softmax], |dlogits, [softmax]| {
                for (class, (dx, &softmax)) in dlogits.iter_mut().zip(softmax).enumerate() {
                    *dx = match label.probability(shape.around, line, class) {
                        None => T::ZERO,
                        Some(label) if use_softmax => (softmax - label) * dloss[line],
                        Some(label) if label == T::ZERO => T::ZERO,
                        Some(label) => -label / softmax * dloss[line],
                    };
                }
                line += 1;
            });
            Ok(())
        })
    })
}

/// The shape of logits around their classes.
struct Classes {
    around: Around,
    loss: Vec<usize>,
}

impl Classes {
    fn new(dims: &[usize], axis: i64) -> Result<Self> {
        let axis = axis_or_scalar(axis, dims.len())?;
        let mut loss = dims.to_vec();
        if let Some(axis) = axis {
            loss[axis] = 1;
        }
        Ok(Self { around: Around::new(dims, axis), loss })
    }

    fn expect_label(&self, logits: &[usize], label: &View<'_>, soft: bool) -> Result<()> {
        if soft {
            return expect_shape(logits, label.dims());
        }
        let without_ones = |dims: &[usize]| dims.iter().copied().filter(|&dim| dim != 1).collect::<Vec<_>>();
        if without_ones(label.dims()) == without_ones(&self.loss) {
            return Ok(());
        }
        Err(Error::Shape { expected: self.loss.clone(), actual: label.dims().to_vec() })
    }

    /// Returns the position of the first element of a line, and the distance between its elements.
    fn line(&self, line: usize) -> (usize, usize) {
        let Around { len, inner, .. } = self.around;
        (line / inner * len * inner + line % inner, inner)
    }

    fn losses<T: Float>(&self, loss: &mut [T], logits: &[T], label: &Label<T>, use_softmax: bool) {
        let mut line = Vec::with_capacity(self.around.len);
        for (number, loss) in loss.iter_mut().enumerate() {
            let (start, step) = self.line(number);
            line.clear();
            line.extend(logits.iter().skip(start).step_by(step).take(self.around.len));
            let shift = if use_softmax { log_sum_exp(&line) } else { [T::ZERO; 2] };
            let log = |x: T| if use_softmax { (x - shift[0]) - shift[1] } else { x.log() };
            *loss = match label {
                Label::Hard(classes) => classes[number].map_or(T::ZERO, |class| -log(line[class])),
                Label::Soft(_) => line.iter().enumerate().fold(T::ZERO, |loss, (class, &x)| {
                    match label.probability(self.around, number, class) {
                        Some(label) if label != T::ZERO => loss - label * log(x),
                        _ => loss,
                    }
                }),
            };
        }
    }
}

/// The labels of all lines.
enum Label<T> {
    Hard(Vec<Option<usize>>),
    Soft(Vec<T>),
}

impl<T: Float> Label<T> {
    fn new(label: &View<'_>, count: usize, soft: bool, ignore_index: i64) -> Result<Self> {
        Ok(if soft { Self::Soft(T::load(label)?) } else { Self::Hard(classes(label, count, ignore_index)?) })
    }

    /// Returns the label's probability of a class in a line, or `None` for an ignored line.
    #[inline]
    fn probability(&self, shape: Around, line: usize, class: usize) -> Option<T> {
        match self {
            Self::Hard(classes) => classes[line].map(|own| if own == class { T::ONE } else { T::ZERO }),
            Self::Soft(values) => {
                let start = line / shape.inner * shape.len * shape.inner + line % shape.inner;
                Some(values[start + class * shape.inner])
            }
        }
    }
}
