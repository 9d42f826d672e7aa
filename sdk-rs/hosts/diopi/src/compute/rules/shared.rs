//! Calls and checks that several groups of rules use.

use tenon::device::{Error, Result};
use tenon_operators::attributes::SumAttributes;
use tenon_operators::{Launch, Operators, TensorMut};

use crate::compute::number::Category;
use crate::compute::{BOOL, Call, DataType, FLOAT, INTEGER, Method, Number, Operand, Tensor};

/// Calls an operator that writes elements of the given type to a target. The inputs may share memory with the
/// target.
pub(super) fn kernel<'c>(
    call: &'c Call,
    target: &Tensor<'c>,
    ty: DataType,
    inputs: &[&Tensor<'_>],
    method: &Method,
    work: &mut dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>) -> Result<()>,
) -> Result<()> {
    let mut out = call.output(target, ty, inputs)?;
    let input = inputs.first().map_or(ty, |input| input.data_type());
    call.run(method, input, &mut |device, launch| work(device, launch, out.elements()))?;
    out.finish()
}

/// Computes the sums of floats along dimensions, which the result lacks.
pub(super) fn sum<'c>(call: &'c Call, out: &Tensor<'c>, x: &Tensor<'_>, axes: &[i64]) -> Result<()> {
    kernel(call, out, x.data_type(), &[x], &Method::new("sum", FLOAT), &mut |device, launch, out| {
        device.sum(
            launch,
            out,
            x.elements(),
            &SumAttributes { axis: axes, keep_dim: false, reduce_all: false },
        )
    })
}

/// Writes a target in several steps. Uses temporary memory if the target shares memory with an input.
pub(super) fn in_steps<'c>(
    call: &'c Call,
    target: &Tensor<'c>,
    inputs: &[&Tensor<'_>],
    write: impl FnOnce(&Tensor<'c>) -> Result<()>,
) -> Result<()> {
    for input in inputs {
        if target.shares_memory(input)? {
            let temporary = call.tensor_like(target)?;
            write(&temporary)?;
            return call.copy(target, &temporary);
        }
    }
    write(target)
}

/// Sets all elements of a tensor to a number, which is converted to the element type.
pub(super) fn fill(call: &Call, target: &Tensor<'_>, number: Number) -> Result<()> {
    if target.len() == 0 {
        return Ok(());
    }
    call.copy(target, &call.scalar(number, target.data_type())?)
}

/// Returns the tensor with numeric elements: booleans become 0 and 1.
pub(super) fn numeric<'c>(call: &'c Call, tensor: &Tensor<'c>) -> Result<Tensor<'c>> {
    match tensor.data_type() {
        DataType::BOOL => call.to_type(tensor, DataType::UINT8),
        _ => Ok(tensor.clone()),
    }
}

/// Returns the indices of several dimensions. Negative numbers count from the end.
pub(super) fn dimensions(tensor: &Tensor<'_>, dims: &[i64]) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(dims.len());
    for &dim in dims {
        let dim = tensor.dimension(dim)?;
        if found.contains(&dim) {
            return Err(Error::invalid(format!("the dimension {dim} occurs more than once in {dims:?}")));
        }
        found.push(dim);
    }
    Ok(found)
}

/// Returns an error unless a tensor has the given shape.
pub(super) fn expect_shape(name: &str, tensor: &Tensor<'_>, dims: &[usize]) -> Result<()> {
    if tensor.dims() == dims {
        Ok(())
    } else {
        Err(Error::invalid(format!("`{name}` has the shape {:?}, not {dims:?}", tensor.dims())))
    }
}

/// Returns a view without dimensions of a one-element tensor.
pub(super) fn single<'c>(tensor: &Tensor<'c>) -> Result<Tensor<'c>> {
    if tensor.len() != 1 {
        let message = format!("one element is expected, not the shape {:?}", tensor.dims());
        return Err(Error::invalid(message));
    }
    (0..tensor.rank()).try_fold(tensor.clone(), |view, _| view.selected(0, 0))
}

/// Selects elements of one tensor where a condition is true, and of another elsewhere.
pub(super) fn choose<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    condition: &Tensor<'c>,
    chosen: &Tensor<'c>,
    other: &Tensor<'c>,
) -> Result<()> {
    let is_complex = |tensor: &Tensor<'_>| Category::of(tensor.data_type()) == Category::Complex;
    let condition = call.to_type(condition, DataType::BOOL)?;
    if is_complex(chosen) || is_complex(other) {
        let [chosen, other] = [chosen, other].map(|tensor| call.to_type(tensor, out.data_type())?.as_pairs());
        let condition = condition.unsqueezed(condition.rank())?;
        return choose(call, &out.as_pairs()?, &condition, &chosen?, &other?);
    }
    call.write(
        &Method::new("select", FLOAT | INTEGER | BOOL),
        out,
        [Operand::Condition(&condition), chosen.into(), other.into()],
        &mut |device, launch, out, [condition, a, b]| device.select(launch, out, condition, a, b),
    )
}
