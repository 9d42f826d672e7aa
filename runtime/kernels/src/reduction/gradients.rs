//! Gradients that are no formulas.

use super::along::{Along, resolve, rows_last, spread, with_last};
use crate::attributes::SumAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::movement;
use crate::loops::slices::{Slot, with_slices};
use crate::numeric::Floating;
use crate::tensor::{View, ViewMut};

/// Computes the gradient of [`sum`](crate::formulas::reduction::sum) with respect to `x`: `dout` for each element.
///
/// # Errors
/// As [`sum`](crate::formulas::reduction::sum).
pub fn sum_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &SumAttributes<'_>) -> Result<()> {
    let SumAttributes { axis, keep_dim, reduce_all } = *with;
    let ([dout], _) = spread(dx.dims(), [dout], Along::named(axis, keep_dim, reduce_all))?;
    movement::copy(dx, &dout)
}

/// Computes the gradient of [`prod`](crate::formulas::reduction::prod) with respect to `x`: `dout` times the product of the
/// other elements.
///
/// Paddle divides the product by the element, which gives NaN for a zero. The product of the other elements
/// is correct in that case too.
///
/// # Errors
/// As [`prod`](crate::formulas::reduction::prod), and [`Error::Type`](crate::Error::Type) unless the tensors are
/// floating-point.
pub fn prod_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    dout: &View<'_>,
    with: &SumAttributes<'_>,
) -> Result<()> {
    let SumAttributes { axis, keep_dim, reduce_all } = *with;
    fn each<T: Compute + Floating + Slot>(dx: ViewMut<'_>, inputs: [&View<'_>; 2], len: usize) -> Result<()> {
        with_slices([dx], inputs, |[dx], [x, dout]| {
            if len == 0 {
                return Ok(());
            }
            for ((dx, x), dout) in
                dx.chunks_exact_mut(len).zip(x.chunks_exact(len)).zip(dout.chunks_exact(len))
            {
                let mut before = T::of(1.0);
                for (dx, &x) in dx.iter_mut().zip(x) {
                    *dx = before;
                    before = before * x;
                }
                let mut behind = dout[0];
                for (dx, &x) in dx.iter_mut().zip(x).rev() {
                    *dx = *dx * behind;
                    behind = behind * x;
                }
            }
            Ok(())
        })
    }
    expect_shape(dx.dims(), x.dims())?;
    let axes = resolve(dout.dims(), x.dims(), axis, keep_dim, reduce_all)?;
    let ([dout], _) = spread(x.dims(), [dout], Along::Axes(&axes))?;
    let ((x, len), (dout, _)) = (rows_last(x, &axes)?, rows_last(&dout, &axes)?);
    let order = with_last(dx.dims().len(), &axes);
    let dx = dx.reborrow().permute(&order)?;
    with_float!(dx.dtype(), T => each::<T>(dx, [&x, &dout], len))
}

/// Computes the gradient of [`sum_to`](super::sum_to) with respect to `x`: `dout`, broadcast.
///
/// # Errors
/// [`Error::Broadcast`](crate::Error::Broadcast).
pub fn reduce_as_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    movement::copy(dx, dout)
}
