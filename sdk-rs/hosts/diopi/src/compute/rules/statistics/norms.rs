//! Rules for norms, which operators compute along one dimension.

use tenon::device::{Error, Result};
use tenon_operators::attributes::PNormAttributes;

use super::complex_reduction::{in_direction, is_complex, magnitudes};
use super::reduced;
use super::reduced::{axes, rows, without};
use super::reduction::sum;
use crate::compute::rules::layout;
use crate::compute::rules::shared::kernel;
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Tensor, wide};

/// Computes norms over dimensions.
pub(crate) fn norm<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    order: Number,
    dims: &[i64],
) -> Result<()> {
    let input = magnitudes(call, input)?;
    let axes = axes(&input, dims)?;
    let out = without(out, &input, &axes)?;
    let rows = rows(call, &call.to_type(&input, wide(out.data_type()))?, &axes)?;
    if rows.dims().last() == Some(&0) && order.to_f64().is_infinite() && out.len() > 0 {
        return Err(Error::invalid("an infinite norm of no elements is not defined"));
    }
    kernel(
        call,
        &out,
        rows.data_type(),
        &[&rows],
        &Method::new("p_norm", FLOAT),
        &mut |device, launch, out| {
            device.p_norm(
                launch,
                out,
                rows.elements(),
                &PNormAttributes { porder: order.to_f64(), axis: -1, keep_dim: false, asvector: false },
            )
        },
    )
}

/// Computes the norm of each tensor of a list.
pub(crate) fn norms<'c>(
    call: &'c Call,
    outs: &[Tensor<'c>],
    inputs: &[Tensor<'c>],
    order: Number,
) -> Result<()> {
    outs.iter().zip(inputs).try_for_each(|(out, input)| norm(call, out, input, order, &[]))
}

/// Computes the gradient of norms with respect to the input.
///
/// For an infinite order, the elements whose absolute value is the norm share the gradient, as in PyTorch.
pub(crate) fn norm_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    input: &Tensor<'c>,
    norm: &Tensor<'c>,
    dims: &[i64],
    order: Number,
) -> Result<()> {
    if is_complex(input) {
        let sizes = magnitudes(call, input)?;
        let gradient = call.tensor_like(&sizes)?;
        norm_grad(call, &gradient, grad_output, &sizes, norm, dims, order)?;
        return in_direction(call, grad_input, &gradient, input);
    }
    let axes = axes(input, dims)?;
    let ty = wide(grad_input.data_type());
    let rows = rows(call, &call.to_type(input, ty)?, &axes)?;
    let norm = call.to_type(&without(norm, input, &axes)?, ty)?;
    let mut dout = call.to_type(&without(grad_output, input, &axes)?, ty)?;
    let order_of_norm = order.to_f64();
    if order_of_norm.is_infinite() {
        dout = shared_by_extrema(call, &dout, &rows, &norm)?;
    }
    let grad = call.tensor_like(&rows)?;
    let method = Method::new("p_norm_grad", FLOAT);
    kernel(call, &grad, ty, &[&rows], &method, &mut |device, launch, out| {
        let (x, norm, dout) = (rows.elements(), norm.elements(), dout.elements());
        device.p_norm_grad(
            launch,
            out,
            x,
            norm,
            dout,
            &PNormAttributes { porder: order_of_norm, axis: -1, keep_dim: false, asvector: false },
        )
    })?;
    let order = reduced::order(input, &axes);
    let dims: Vec<usize> = order.iter().map(|&dim| input.dims()[dim]).collect();
    layout::copy(call, &grad_input.permuted(&order)?, &grad.reshaped(&dims)?)
}

/// Divides gradients by the number of elements whose absolute value is the norm.
fn shared_by_extrema<'c>(
    call: &'c Call,
    dout: &Tensor<'c>,
    rows: &Tensor<'c>,
    norm: &Tensor<'c>,
) -> Result<Tensor<'c>> {
    let sizes = call.formula(
        &Method::new("abs", FLOAT | INTEGER),
        [rows.into()],
        &mut |device, launch, out, [x]| device.abs(launch, out, x),
    )?;
    let norm = norm.unsqueezed(norm.rank())?;
    let equal = call.formula(
        &Method::new("equal", FLOAT | INTEGER | BOOL).yields_bool(),
        [(&sizes).into(), (&norm).into()],
        &mut |device, launch, out, [a, b]| device.equal(launch, out, a, b),
    )?;
    let counts = call.tensor_like(dout)?;
    sum(call, &counts, &equal, &[-1])?;
    call.formula(
        &Method::new("divide", FLOAT),
        [dout.into(), (&counts).into()],
        &mut |device, launch, out, [a, b]| device.divide(launch, out, a, b),
    )
}
