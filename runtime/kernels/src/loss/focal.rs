//! The focal loss of probabilities (Lin et al., "Focal Loss for Dense Object Detection", 2017).

use super::classes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`softmax_focal_loss`].
///
/// # Errors
/// None.
pub fn softmax_focal_loss_shape(
    x: TensorMeta<'_>,
    _label: TensorMeta<'_>,
    _weight: Option<TensorMeta<'_>>,
    _alpha: f64,
    _gamma: f64,
) -> Result<Vec<usize>> {
    Ok(vec![x.dims().first().copied().unwrap_or(0)])
}

/// Computes `-alpha * weight * (1 - p) ** gamma * log(p)` with the probability `p` of the labelled class of
/// each row of `x`, and the weight of that class. A negative label has the loss 0.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`] for a label that is not a class, and [`Error::Type`].
pub fn softmax_focal_loss(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    alpha: f64,
    gamma: f64,
) -> Result<()> {
    let labels = labels(x, label, weight)?;
    expect_shape(&[labels.len()], out.dims())?;
    let count = x.dims()[1];
    with_float!(x.dtype(), T => {
        let outs = [Some(out.reborrow())];
        with_optional_slices::<T, 1, 2>(outs, [Some(x), weight], |[out], [x, weight]| {
            let (out, x) = (out.unwrap_or_default(), x.unwrap_or_default());
            for ((n, out), label) in out.iter_mut().enumerate().zip(&labels) {
                *out = label.map_or(0.0, |label| factor(weight, label, alpha) * loss_of(x[n * count + label], gamma));
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`softmax_focal_loss`] with respect to the logits of the probabilities, and with
/// respect to the logarithm of the probability of each labelled class.
///
/// # Errors
/// As [`softmax_focal_loss`].
pub fn softmax_focal_loss_grad(
    dx: &mut ViewMut<'_>,
    slopes: &mut ViewMut<'_>,
    x: &View<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    alpha: f64,
    gamma: f64,
) -> Result<()> {
    let labels = labels(x, label, weight)?;
    expect_shape(x.dims(), dx.dims())?;
    expect_shape(&[labels.len()], slopes.dims())?;
    let count = x.dims()[1];
    with_float!(x.dtype(), T => {
        let outs = [lend(Some(dx)), lend(Some(slopes))];
        with_optional_slices::<T, 2, 2>(outs, [Some(x), weight], |[dx, slopes], [x, weight]| {
            let [dx, slopes] = [dx, slopes].map(Option::unwrap_or_default);
            let x = x.unwrap_or_default();
            dx.fill(0.0);
            slopes.fill(0.0);
            for (n, (slope, label)) in slopes.iter_mut().zip(&labels).enumerate() {
                let &Some(label) = label else { continue };
                let row = &x[n * count..][..count];
                *slope = factor(weight, label, alpha) * slope_of(row[label], gamma);
                for (class, (dx, &p)) in dx[n * count..][..count].iter_mut().zip(row).enumerate() {
                    *dx = *slope * (if class == label { 1.0 } else { 0.0 } - p);
                }
            }
            Ok(())
        })
    })
}

/// Returns `-(1 - p) ** gamma * log(p)`.
fn loss_of<T: Float>(p: T, gamma: f64) -> T {
    -(T::ONE - p).pow(T::of(gamma)) * logarithm(p)
}

/// Returns the derivative of `-(1 - p) ** gamma * log(p)` with respect to `log(p)`.
fn slope_of<T: Float>(p: T, gamma: f64) -> T {
    let (rest, gamma) = (T::ONE - p, T::of(gamma));
    let of_power =
        if gamma == T::ZERO { T::ZERO } else { gamma * rest.pow(gamma - T::ONE) * p * logarithm(p) };
    of_power - rest.pow(gamma)
}

/// Returns the logarithm of a probability. The result is finite for 0, too.
fn logarithm<T: Float>(p: T) -> T {
    p.max(T::NORMAL).log()
}

fn factor<T: Float>(weight: Option<&[T]>, label: usize, alpha: f64) -> T {
    T::of(alpha) * weight.map_or(T::ONE, |weight| weight[label])
}

/// Checks the shapes and returns the class of each row.
fn labels(x: &View<'_>, label: &View<'_>, weight: Option<&View<'_>>) -> Result<Vec<Option<usize>>> {
    let &[batch, count] = x.dims() else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 2 });
    };
    expect_shape(&[batch], label.dims())?;
    if let Some(weight) = weight {
        expect_shape(&[count], weight.dims())?;
    }
    let negative = crate::loops::slices::integers(label)?.into_iter().find(|&label| label < 0);
    classes(label, count, negative.unwrap_or(-1))
}
