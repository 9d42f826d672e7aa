//! Matrix products that are added to a tensor.

use super::Plan;
use crate::elements::accumulate::with_float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{Slot, lend};
use crate::reduction;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// Computes `beta * input + alpha * (x @ y)` for matrices or batches of them; `input` is broadcast to the
/// shape of the product. If `beta` is zero, `input` is not read.
///
/// # Errors
/// As [`matmul`](super::matmul), and [`Error::Type`](crate::Error::Type) unless the tensors are floating-point.
pub fn addmm(
    out: &mut ViewMut<'_>,
    input: &View<'_>,
    x: &View<'_>,
    y: &View<'_>,
    beta: f64,
    alpha: f64,
) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims(), false, false)?;
    plan.expect_result(out.dims())?;
    with_float!(x.dtype(), T => {
        let (alpha, beta) = (alpha as T, beta as T);
        let mut product = vec![0.0; out.len()];
        plan.forward(&mut product, &T::load(x)?, &T::load(y)?);
        product.iter_mut().for_each(|value| *value *= alpha);
        if beta != 0.0 {
            let input = T::load(&input.clone().expand(out.dims())?)?;
            product.iter_mut().zip(input).for_each(|(value, input)| *value += beta * input);
        }
        T::store(out, &product)
    })
}

/// Computes the gradients of [`addmm`] with respect to `input`, `x` and `y`.
///
/// # Errors
/// As [`addmm`].
pub fn addmm_grad(
    dinput: Option<&mut ViewMut<'_>>,
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    beta: f64,
    alpha: f64,
) -> Result<()> {
    let plan = Plan::new(x.dims(), y.dims(), false, false)?;
    plan.expect_result(dout.dims())?;
    with_float!(x.dtype(), T => {
        let scaled = |values: Vec<T>, factor: f64| -> Vec<T> {
            values.into_iter().map(|value| value * factor as T).collect()
        };
        if let Some(dinput) = dinput {
            let mut sum = Buffer::new(<T as crate::Element>::DTYPE, dinput.dims())?;
            let wide = T::load(dout)?;
            reduction::sum_to(&mut sum.view_mut()?, &View::of_slice(&wide, dout.dims())?)?;
            T::store(dinput, &scaled(T::load(&sum.view()?)?, beta))?;
        }
        expect_shape(x.dims(), dx.as_deref().map_or(x.dims(), ViewMut::dims))?;
        expect_shape(y.dims(), dy.as_deref().map_or(y.dims(), ViewMut::dims))?;
        let zeros = |gradient: &Option<&mut ViewMut<'_>>| gradient.as_ref().map(|out| vec![0.0; out.len()]);
        let (mut x_sum, mut y_sum) = (zeros(&dx), zeros(&dy));
        let inputs = [&T::load(x)?[..], &T::load(y)?, &T::load(dout)?];
        plan.backward(x_sum.as_deref_mut(), y_sum.as_deref_mut(), inputs);
        for (out, values) in [lend(dx), lend(dy)].into_iter().zip([x_sum, y_sum]) {
            if let (Some(mut out), Some(values)) = (out, values) {
                T::store(&mut out, &scaled(values, alpha))?;
            }
        }
        Ok(())
    })
}
