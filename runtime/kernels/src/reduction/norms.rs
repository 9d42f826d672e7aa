//! Norms of vectors.

use super::along::{Along, resolve, spread};
use super::rowwise;
use crate::attributes::PNormAttributes;
use crate::elements::accumulate::with_float;
use crate::error::Result;
use crate::loops::slices::Slot;
use crate::loops::tiles::update;
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Computes the `porder`-norm along a dimension, or of all elements with `asvector`.
///
/// The norm is `(Σ |x|^porder)^(1 / porder)`. Order 0 counts the nonzero elements; positive and negative
/// infinity are the largest and the smallest absolute value.
///
/// # Errors
/// As [`logsumexp`](super::logsumexp()).
pub fn p_norm(out: &mut ViewMut<'_>, x: &View<'_>, with: &PNormAttributes) -> Result<()> {
    let PNormAttributes { porder, axis, keep_dim, asvector } = *with;
    let axes = resolve(out.dims(), x.dims(), &[axis], keep_dim, asvector)?;
    rowwise(out, x, &axes, |row| {
        let sizes = row.iter().map(|x| x.abs());
        if porder == 0.0 {
            sizes.filter(|&x| x != 0.0).count() as f64
        } else if porder == f64::INFINITY {
            sizes.fold(0.0, Numeric::max)
        } else if porder == f64::NEG_INFINITY {
            sizes.fold(f64::INFINITY, Numeric::min)
        } else if porder == 1.0 {
            sizes.sum()
        } else if porder == 2.0 {
            sizes.map(|x| x * x).sum::<f64>().sqrt()
        } else {
            sizes.map(|x| x.powf(porder)).sum::<f64>().powf(1.0 / porder)
        }
    })
}

/// Computes the gradient of [`p_norm`] with respect to `x`: `dout * sign(x) * (|x| / out)^(porder - 1)`, and zero where
/// `x` is zero.
///
/// For infinite orders it is `dout * sign(x)` for each element whose absolute value is the norm, and for
/// order 0 it is zero. For orders below 1, Paddle returns NaN where `x` is zero.
///
/// # Errors
/// As [`p_norm`].
pub fn p_norm_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    with: &PNormAttributes,
) -> Result<()> {
    let PNormAttributes { porder, axis, keep_dim, asvector } = *with;
    let axis = [axis];
    let along = Along::named(&axis, keep_dim, asvector);
    let ([out, dout], _) = spread(x.dims(), [out, dout], along)?;
    with_float!(dx.dtype(), T => {
        update::<T, 1, 3>([Some(dx.reborrow())], [Some(x), Some(&out), Some(&dout)], |[x, out, dout]| {
            let signed = if x > 0.0 { dout } else if x < 0.0 { -dout } else { 0.0 };
            [if porder == 0.0 || x == 0.0 {
                0.0
            } else if porder.is_infinite() {
                if x.abs() == out { signed } else { 0.0 }
            } else if porder == 1.0 {
                signed
            } else if porder == 2.0 {
                dout * (x / out)
            } else {
                signed * (x.abs() / out).powf(porder as T - 1.0)
            }]
        })
    })
}

/// Scales the tensor so that its Euclidean norm is at most `max_norm`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), and [`Error::Type`](crate::Error::Type) unless the tensors are
/// floating-point.
pub fn clip_by_norm(out: &mut ViewMut<'_>, x: &View<'_>, max_norm: f64) -> Result<()> {
    let values = <f64 as Slot>::load(x)?;
    let norm = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    let factor = if norm > max_norm { max_norm / norm } else { 1.0 };
    with_float!(x.dtype(), T => {
        let factor = factor as T;
        update::<T, 1, 1>([Some(out.reborrow())], [Some(x)], |[x]| [x * factor])
    })
}
