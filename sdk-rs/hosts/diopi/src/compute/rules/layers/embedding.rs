//! Rules for embedding tables.

use tenon::device::{Error, Result};

use crate::compute::rules::selection::indexing;
use crate::compute::rules::shared::{choose, fill, in_steps, kernel};
use crate::compute::rules::statistics::norms::norm;
use crate::compute::{BOOL, Call, DataType, FLOAT, INTEGER, Method, Number, Tensor, wide};

/// Looks up the rows of a table.
pub(crate) fn embedding<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    weight: &Tensor<'c>,
    indices: &Tensor<'c>,
) -> Result<()> {
    // The operator sets the row of the padding index to zero. In PyTorch, this row only has no gradient.
    kernel(
        call,
        out,
        weight.data_type(),
        &[weight, indices],
        &Method::new("embedding", FLOAT),
        &mut |device, launch, out| device.embedding(launch, out, indices.elements(), weight.elements(), -1),
    )
}

/// Adds each gradient to the row that it belongs to, with `by_frequency` divided by the number of times the
/// row was used.
pub(crate) fn embedding_grad<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    grad: &Tensor<'c>,
    indices: &Tensor<'c>,
    rows: i64,
    padding_index: i64,
    by_frequency: bool,
) -> Result<()> {
    if out.dims().first().map(|&len| len as i64) != Some(rows) {
        let message = format!("the gradient has the shape {:?} for {rows} rows", out.dims());
        return Err(Error::invalid(message));
    }
    let mut grad = call.to_type(grad, out.data_type())?;
    if by_frequency {
        let counts = counts(call, indices, rows as usize, out.data_type())?;
        let own = call.temporary(counts.data_type(), indices.dims())?;
        let flat = call.packed(indices)?.reshaped(&[indices.len()])?;
        indexing::index_select(call, &own.reshaped(&[indices.len()])?, &counts, 0, &flat)?;
        let own = own.unsqueezed(own.rank())?;
        grad = call.formula(
            &Method::new("divide", FLOAT),
            [(&grad).into(), (&own).into()],
            &mut |device, launch, out, [a, b]| device.divide(launch, out, a, b),
        )?;
    }
    let method = Method::new("embedding_grad", FLOAT);
    kernel(call, out, grad.data_type(), &[&grad, indices], &method, &mut |device, launch, out| {
        device.embedding_grad(launch, out, indices.elements(), grad.elements(), padding_index.max(-1))
    })
}

/// Counts how often each row is used.
fn counts<'c>(call: &'c Call, indices: &Tensor<'c>, rows: usize, ty: DataType) -> Result<Tensor<'c>> {
    let zeros = call.temporary(ty, &[rows])?;
    fill(call, &zeros, Number::Integer(0))?;
    let ones = call.scalar(Number::Integer(1), ty)?.expanded(&[indices.len()])?;
    let flat = call.packed(indices)?.reshaped(&[indices.len()])?;
    let counts = call.tensor_like(&zeros)?;
    kernel(
        call,
        &counts,
        ty,
        &[&zeros],
        &Method::new("index_add", FLOAT | INTEGER),
        &mut |device, launch, out| {
            device.index_add(launch, out, zeros.elements(), flat.elements(), ones.elements(), 0)
        },
    )?;
    Ok(counts)
}

/// Scales down the rows at indices whose norm is too large, as PyTorch does: by the limit divided by the sum
/// of the norm and a small number.
pub(crate) fn embedding_renorm<'c>(
    call: &'c Call,
    table: &Tensor<'c>,
    indices: &Tensor<'c>,
    max_norm: f64,
    norm_type: f64,
) -> Result<()> {
    if table.rank() != 2 {
        return Err(Error::invalid(format!("`inout` has the shape {:?}, which is no matrix", table.dims())));
    }
    if indices.len() == 0 {
        return Ok(());
    }
    let rows = table.dims()[0];
    let norms = call.temporary(wide(table.data_type()), &[rows, 1])?;
    norm(call, &norms, table, Number::Float(norm_type), &[1])?;
    let used = counts(call, indices, rows, DataType::FLOAT32)?.unsqueezed(1)?;
    let comparison = Method::new("greater_than", FLOAT | INTEGER | BOOL).yields_bool();
    let is_used =
        call.formula(&comparison, [(&used).into(), 0.0.into()], &mut |device, launch, out, [a, b]| {
            device.greater_than(launch, out, a, b)
        })?;
    let is_too_great =
        call.formula(&comparison, [(&norms).into(), max_norm.into()], &mut |device, launch, out, [a, b]| {
            device.greater_than(launch, out, a, b)
        })?;
    let both = call.formula(
        &Method::new("logical_and", BOOL).yields_bool(),
        [(&is_used).into(), (&is_too_great).into()],
        &mut |device, launch, out, [a, b]| device.logical_and(launch, out, a, b),
    )?;
    let divisors =
        call.formula(
            &Method::new("add", FLOAT),
            [(&norms).into(), 1e-7.into()],
            &mut |device, launch, out, [a, b]| device.add(launch, out, a, b),
        )?;
    let factors = call.formula(
        &Method::new("divide", FLOAT),
        [max_norm.into(), (&divisors).into()],
        &mut |device, launch, out, [a, b]| device.divide(launch, out, a, b),
    )?;
    let scaled = call.formula(
        &Method::new("multiply", FLOAT),
        [table.into(), (&factors).into()],
        &mut |device, launch, out, [a, b]| device.multiply(launch, out, a, b),
    )?;
    let scaled = call.to_type(&scaled, table.data_type())?;
    in_steps(call, table, &[table], |out| choose(call, out, &both, &scaled, table))
}
