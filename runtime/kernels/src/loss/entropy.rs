//! The binary cross entropy of logits, as frameworks ask for it.

use crate::elements::accumulate::with_float;
use crate::elements::dtype::DType;
use crate::error::{Result, expect_shape};
use crate::formulas::loss;
use crate::loops::slices::{Slot, elements};
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// Computes [`sigmoid_cross_entropy`](loss::sigmoid_cross_entropy) or, with a weight,
/// [`weighted_sigmoid_cross_entropy`](loss::weighted_sigmoid_cross_entropy). `normalize` divides the result by the
/// number of labels that are not `ignore_index`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) unless all tensors have the same shape, and
/// [`Error::Type`](crate::Error::Type) unless they are floating-point.
pub fn sigmoid_cross_entropy_with_logits(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    normalize: bool,
    ignore_index: i64,
) -> Result<()> {
    expect_same(out, [Some(x), Some(label), weight])?;
    let ignored = ignore_index as f64;
    divided(out, normalize.then_some((label, ignored)), |out| match weight {
        None => loss::sigmoid_cross_entropy(out, x, label, ignored),
        Some(weight) => loss::weighted_sigmoid_cross_entropy(out, x, label, weight, ignored),
    })
}

/// Computes the gradient of [`sigmoid_cross_entropy_with_logits`] with respect to the logits.
///
/// # Errors
/// As [`sigmoid_cross_entropy_with_logits`].
pub fn sigmoid_cross_entropy_with_logits_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    label: &View<'_>,
    weight: Option<&View<'_>>,
    dout: &View<'_>,
    normalize: bool,
    ignore_index: i64,
) -> Result<()> {
    expect_same(dx, [Some(x), Some(label), weight])?;
    expect_shape(dx.dims(), dout.dims())?;
    let ignored = ignore_index as f64;
    divided(dx, normalize.then_some((label, ignored)), |dx| match weight {
        None => loss::sigmoid_cross_entropy_dx(dx, x, label, dout, ignored),
        Some(weight) => loss::weighted_sigmoid_cross_entropy_dx(dx, x, label, weight, dout, ignored),
    })
}

fn expect_same(out: &ViewMut<'_>, inputs: [Option<&View<'_>>; 3]) -> Result<()> {
    inputs.into_iter().flatten().try_for_each(|input| expect_shape(out.dims(), input.dims()))
}

/// Computes elements, and divides them by the number of labels that are not ignored, if labels are given. Without
/// any such label, all elements are zero, and stay so.
fn divided(
    out: &mut ViewMut<'_>,
    labels: Option<(&View<'_>, f64)>,
    compute: impl FnOnce(&mut ViewMut<'_>) -> Result<()>,
) -> Result<()> {
    let Some((labels, ignored)) = labels else { return compute(out) };
    let counted = elements::<f64>(labels)?.iter().filter(|&&label| (label - ignored).abs() > 1e-6).count();
    let mut undivided =
        Buffer::new(if out.dtype() == DType::F64 { DType::F64 } else { DType::F32 }, out.dims())?;
    compute(&mut undivided.view_mut()?)?;
    let divisor = counted.max(1) as f64;
    with_float!(out.dtype(), T => {
        let values = T::load(&undivided.view()?)?;
        let quotients: Vec<T> = values.iter().map(|&value| value / divisor as T).collect();
        T::store(out, &quotients)
    })
}
