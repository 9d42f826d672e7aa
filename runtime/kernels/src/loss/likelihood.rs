//! Negative log likelihood.
//!
//! `x` has the shape `[batch, classes, …]` and `label` the same shape without the classes. Each label is a
//! class, whose weight is one unless weights are given. The weight of an ignored label is zero.

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{lend, with_optional_slices};
use crate::loss::classes;
use crate::tensor::axis::Around;
use crate::tensor::{View, ViewMut};

/// Computes `-weight[label] * x[label]` for each label. The reduction `"sum"` computes the sum of these, and
/// `"mean"` the sum divided by the sum of the weights, which is `total_weight`.
///
/// If all labels are ignored, the mean is zero, as in PaddlePaddle. With the reduction `"none"` the total
/// weight is zero.
///
/// # Errors
/// [`Error::Shape`], [`Error::Index`] for a label that is not a class, [`Error::Attribute`] and
/// [`Error::Type`].
pub fn nll_loss(
    out: &mut ViewMut<'_>,
    total_weight: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    ignore_index: i64,
    reduction: &str,
) -> Result<()> {
    let shape = expect_shapes(x.dims(), label.dims(), weight)?;
    let reduction = Reduction::new(reduction)?;
    reduction.expect_result(label.dims(), out.dims(), out.len())?;
    crate::expect_length("total_weight", 1, total_weight.as_deref().map_or(1, ViewMut::len))?;
    let labels = classes(label, shape.len, ignore_index)?;
    with_float!(x.dtype(), T => {
        let outs = [Some(out.reborrow()), lend(total_weight)];
        with_optional_slices::<T, 2, 2>(outs, [Some(x), weight], |[out, total_out], [x, weight]| {
            let (out, x) = (out.unwrap_or_default(), x.unwrap_or_default());
            let (mut sum, mut total) = (T::ZERO, T::ZERO);
            for (number, &class) in labels.iter().enumerate() {
                let (value, factor) = match class {
                    None => (T::ZERO, T::ZERO),
                    Some(class) => {
                        let factor = weight.map_or(T::ONE, |weight| weight[class]);
                        (-factor * x[at(shape, number, class)], factor)
                    }
                };
                match reduction {
                    Reduction::None => out[number] = value,
                    _ => (sum, total) = (sum + value, total + factor),
                }
            }
            match reduction {
                Reduction::None => {}
                Reduction::Mean if total != T::ZERO => out[0] = sum / total,
                Reduction::Mean | Reduction::Sum => out[0] = sum,
            }
            if let Some(total_out) = total_out {
                total_out[0] = total;
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`nll_loss`] with respect to `x`.
///
/// # Errors
/// As [`nll_loss`].
pub fn nll_loss_grad(
    dx: &mut ViewMut<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    total_weight: &View<'_>,
    dout: &View<'_>,
    ignore_index: i64,
    reduction: &str,
) -> Result<()> {
    let shape = expect_shapes(dx.dims(), label.dims(), weight)?;
    let reduction = Reduction::new(reduction)?;
    reduction.expect_result(label.dims(), dout.dims(), dout.len())?;
    crate::expect_length("total_weight", 1, total_weight.len())?;
    let labels = classes(label, shape.len, ignore_index)?;
    with_float!(dx.dtype(), T => {
        let inputs = [weight, Some(total_weight), Some(dout)];
        with_optional_slices::<T, 1, 3>([Some(dx.reborrow())], inputs, |[dx], [weight, total, dout]| {
            let (dx, total) = (dx.unwrap_or_default(), total.unwrap_or_default());
            let dout = dout.unwrap_or_default();
            dx.fill(T::ZERO);
            for (number, class) in labels.iter().enumerate() {
                let Some(class) = *class else { continue };
                let gradient = match reduction {
                    Reduction::None => dout[number],
                    Reduction::Sum => dout[0],
                    Reduction::Mean => dout[0] / total[0],
                };
                dx[at(shape, number, class)] = -weight.map_or(T::ONE, |weight| weight[class]) * gradient;
            }
            Ok(())
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduction {
    None,
    Sum,
    Mean,
}

impl Reduction {
    fn new(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            _ => Err(Error::Attribute { name: "reduction", value: name.to_owned() }),
        }
    }

    fn expect_result(self, label: &[usize], dims: &[usize], len: usize) -> Result<()> {
        match self {
            Self::None => expect_shape(label, dims),
            Self::Sum | Self::Mean => crate::expect_length("out", 1, len),
        }
    }
}

fn expect_shapes(x: &[usize], label: &[usize], weight: Option<&View<'_>>) -> Result<Around> {
    let &[batch, classes, ref rest @ ..] = x else { return Err(Error::Axis { axis: 1, rank: x.len() }) };
    expect_shape(&[&[batch], rest].concat(), label)?;
    expect_shape(&[classes], weight.map_or(&[classes], View::dims))?;
    Ok(Around::new(x, Some(1)))
}

/// Returns the position of a class for a label, given the label's number in row-major order.
fn at(shape: Around, number: usize, class: usize) -> usize {
    (number / shape.inner * shape.len + class) * shape.inner + number % shape.inner
}
