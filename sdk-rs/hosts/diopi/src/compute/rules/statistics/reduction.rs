//! Rules that reduce dimensions: sums, means, products, extrema and tests.

use tenon::device::Result;
use tenon_operators::attributes::{ArgmaxAttributes, CumsumAttributes, SumAttributes};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use super::complex_reduction::{is_complex, product};
use super::reduced::{axes, without};
use crate::compute::number::Category;
use crate::compute::rules::layout;
use crate::compute::rules::shared::{kernel, numeric};
use crate::compute::rules::terms::{divide, subtract};
use crate::compute::{BOOL, Call, DataType, FLOAT, INTEGER, Method, Number, Tensor, wide};

/// The call of an operator that reduces dimensions.
type Reduction<'w> = dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>, &SumAttributes<'_>) -> Result<()>
    + 'w;

/// Calls an operator that reduces dimensions and writes elements of the given type.
fn reduce<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'_>,
    dims: &[i64],
    ty: DataType,
    method: &Method,
    work: &mut Reduction<'_>,
) -> Result<()> {
    let axes = axes(input, dims)?;
    let out = without(out, input, &axes)?;
    let list: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let with = SumAttributes { axis: &list, keep_dim: false, reduce_all: axes.len() == input.rank() };
    kernel(call, &out, ty, &[input], method, &mut |device, launch, out| {
        work(device, launch, out, input.elements(), &with)
    })
}

/// Returns the input, converted to the kind of the result, such as floating-point.
fn of_kind<'c>(call: &'c Call, input: &Tensor<'c>, out: &Tensor<'_>) -> Result<Tensor<'c>> {
    let [kind, wanted] = [input, out].map(|tensor| Category::of(tensor.data_type()));
    if kind == wanted && kind != Category::Complex {
        Ok(input.clone())
    } else {
        call.to_type(input, out.data_type())
    }
}

/// Sums or averages complex numbers part by part. Returns `None` unless the input is complex.
fn parts<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dims: &[i64],
    reduce: impl FnOnce(&Tensor<'c>, &Tensor<'c>, &[i64]) -> Result<()>,
) -> Option<Result<()>> {
    (Category::of(input.data_type()) == Category::Complex).then(|| {
        let axes = axes(input, dims)?;
        let out = without(out, input, &axes)?;
        if axes.is_empty() {
            return layout::copy(call, &out, input);
        }
        let list: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
        reduce(&out.as_pairs()?, &input.as_pairs()?, &list)
    })
}

/// Computes sums, in the type of the result.
pub(crate) fn sum<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, dims: &[i64]) -> Result<()> {
    let input = of_kind(call, input, out)?;
    if let Some(done) = parts(call, out, &input, dims, |out, input, dims| sum(call, out, input, dims)) {
        return done;
    }
    let method = Method::new("sum", FLOAT | INTEGER | BOOL);
    reduce(call, out, &input, dims, out.data_type(), &method, &mut |device, launch, out, x, with| {
        device.sum(launch, out, x, with)
    })
}

/// Computes means, in the type of the result.
pub(crate) fn mean<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, dims: &[i64]) -> Result<()> {
    let input = call.to_type(input, out.data_type())?;
    if let Some(done) = parts(call, out, &input, dims, |out, input, dims| mean(call, out, input, dims)) {
        return done;
    }
    let ty = input.data_type();
    reduce(call, out, &input, dims, ty, &Method::new("mean", FLOAT), &mut |device, launch, out, x, with| {
        device.mean(launch, out, x, with)
    })
}

/// Computes standard deviations: the square root of the sum of the squared distances from the mean, divided
/// by the number of elements minus the correction. Complex numbers are points with two coordinates.
pub(crate) fn std<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dims: &[i64],
    correction: Option<Number>,
) -> Result<()> {
    let input = input.with_a_dimension()?;
    let axes = axes(&input, dims)?;
    let out = without(out, &input, &axes)?;
    let count: usize = axes.iter().map(|&axis| input.dims()[axis]).product();
    let mut list: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let is_complex = is_complex(&input);
    let points = if is_complex { input.as_pairs()? } else { input };
    let points = call.to_type(&points, wide(out.data_type()))?;
    let coordinates: &[usize] = if is_complex { &[2] } else { &[] };
    let mut means = call.temporary(points.data_type(), &[out.dims(), coordinates].concat())?;
    mean(call, &means, &points, &list)?;
    for &axis in &axes {
        means = means.unsqueezed(axis)?;
    }
    let distances = subtract(call, &points, &means)?;
    let squares = call.formula(
        &Method::new("square", FLOAT),
        [(&distances).into()],
        &mut |device, launch, out, [x]| device.square(launch, out, x),
    )?;
    let sums = call.temporary(points.data_type(), out.dims())?;
    if is_complex {
        list.push(-1);
    }
    sum(call, &sums, &squares, &list)?;
    let divisor = (count as f64 - correction.map_or(1.0, Number::to_f64)).max(0.0);
    let variances = divide(call, &sums, divisor)?;
    call.write(&Method::new("sqrt", FLOAT), &out, [(&variances).into()], &mut |device, launch, out, [x]| {
        device.sqrt(launch, out, x)
    })
}

/// Computes products over one dimension or over all, in the type of the result.
pub(crate) fn prod<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, dim: Option<i64>) -> Result<()> {
    let input = numeric(call, &of_kind(call, input, out)?)?;
    let input = match input.data_type() {
        // The operator computes products of `uint8` in that type.
        DataType::UINT8 => numeric(call, &call.to_type(&input, out.data_type())?)?,
        _ => input,
    };
    if is_complex(&input) {
        let axes = axes(&input, dim.as_slice())?;
        return product(call, &without(out, &input, &axes)?, &input, &axes);
    }
    let method = Method::new("prod", FLOAT | INTEGER);
    let ty = if input.data_type() == DataType::UINT8 { DataType::UINT8 } else { out.data_type() };
    reduce(call, out, &input, dim.as_slice(), ty, &method, &mut |device, launch, out, x, with| {
        device.prod(launch, out, x, with)
    })
}

/// Computes the maxima or minima over dimensions.
pub(crate) fn extremum<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dims: &[i64],
    greatest: bool,
) -> Result<()> {
    let input = numeric(call, input)?;
    let ty = input.data_type();
    let method = Method::new(if greatest { "max" } else { "min" }, FLOAT | INTEGER);
    reduce(call, out, &input, dims, ty, &method, &mut |device, launch, out, x, with| {
        if greatest { device.max(launch, out, x, with) } else { device.min(launch, out, x, with) }
    })
}

/// Finds the minima along a dimension, and the first index of each.
pub(crate) fn min<'c>(
    call: &'c Call,
    indices: &Tensor<'c>,
    elements: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
) -> Result<()> {
    places(call, indices, Some(elements), input, Some(dim), false)
}

/// Finds the maxima along a dimension, and the first index of each.
pub(crate) fn max<'c>(
    call: &'c Call,
    indices: &Tensor<'c>,
    elements: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
) -> Result<()> {
    places(call, indices, Some(elements), input, Some(dim), true)
}

/// Finds the first index of the maximum or minimum along a dimension, or among all elements if no dimension
/// is given.
pub(crate) fn index<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: Option<i64>,
    greatest: bool,
) -> Result<()> {
    places(call, out, None, input, dim, greatest)
}

fn places<'c>(
    call: &'c Call,
    indices: &Tensor<'c>,
    elements: Option<&Tensor<'c>>,
    input: &Tensor<'c>,
    dim: Option<i64>,
    greatest: bool,
) -> Result<()> {
    let input = numeric(call, input)?;
    let axes = axes(&input, dim.as_slice())?;
    let (axis, flatten) = match (dim, axes.as_slice()) {
        (Some(_), [axis]) => (*axis as i64, false),
        _ => (0, true),
    };
    let indices = without(indices, &input, &axes)?;
    let elements = elements.map(|elements| without(elements, &input, &axes)).transpose()?;
    let mut indices = call.output(&indices, indices.data_type(), &[&input])?;
    let mut elements =
        elements.map(|elements| call.output(&elements, input.data_type(), &[&input])).transpose()?;
    let name = if greatest { "max_with_indices" } else { "min_with_indices" };
    call.run(&Method::new(name, FLOAT | INTEGER), input.data_type(), &mut |device, launch| {
        let out = elements.as_mut().map(|elements| elements.elements());
        let (indices, x) = (indices.elements(), input.elements());
        if greatest {
            device.max_with_indices(
                launch,
                out,
                indices,
                x,
                &ArgmaxAttributes { axis, keep_dim: false, flatten },
            )
        } else {
            device.min_with_indices(
                launch,
                out,
                indices,
                x,
                &ArgmaxAttributes { axis, keep_dim: false, flatten },
            )
        }
    })?;
    indices.finish()?;
    elements.map_or(Ok(()), |elements| elements.finish())
}

/// Tests whether any element, or all of them, are nonzero.
pub(crate) fn test<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: Option<i64>,
    all_of_them: bool,
) -> Result<()> {
    let method = Method::new(if all_of_them { "all" } else { "any" }, FLOAT | INTEGER | BOOL);
    reduce(call, out, input, dim.as_slice(), DataType::BOOL, &method, &mut |device, launch, out, x, with| {
        if all_of_them { device.all(launch, out, x, with) } else { device.any(launch, out, x, with) }
    })
}

/// Computes running sums along a dimension in the type of the result, with `reverse` from the end.
pub(crate) fn cumsum<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    reverse: bool,
) -> Result<()> {
    let input = numeric(call, &call.to_type(input, out.data_type())?)?;
    input.dimension(dim)?;
    let (input, out) = (input.with_a_dimension()?, out.with_a_dimension()?);
    let method = Method::new("cumsum", FLOAT | INTEGER);
    kernel(call, &out, input.data_type(), &[&input], &method, &mut |device, launch, out| {
        device.cumsum(
            launch,
            out,
            input.elements(),
            &CumsumAttributes { axis: dim, flatten: false, exclusive: false, reverse },
        )
    })
}
