//! Rules that sort elements, and find unique ones.

use tenon::device::{Error, Result};
use tenon_operators::attributes::TopkAttributes;

use crate::compute::rules::shared::{expect_shape, kernel, numeric};
use crate::compute::{Call, DataType, FLOAT, INTEGER, Method, Place, Tensor};

/// Sorts elements along a dimension. Equal elements keep their order.
pub(crate) fn sort<'c>(
    call: &'c Call,
    values: &Tensor<'c>,
    indices: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    descending: bool,
) -> Result<()> {
    input.dimension(dim)?;
    let input = numeric(call, input)?;
    let mut sorted = call.output(values, input.data_type(), &[&input])?;
    let mut places = call.output(indices, DataType::INT64, &[&input])?;
    call.run(&Method::new("argsort", FLOAT | INTEGER), input.data_type(), &mut |device, launch| {
        device.argsort(launch, sorted.elements(), places.elements(), input.elements(), dim, descending)
    })?;
    sorted.finish()?;
    places.finish()
}

/// Finds the indices that sort elements along a dimension; by default the last one.
pub(crate) fn argsort<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: Option<i64>,
    descending: bool,
) -> Result<()> {
    let sorted = call.tensor_like(input)?;
    sort(call, &sorted, out, input, dim.unwrap_or(-1), descending)
}

/// Computes the gradient of sorting: each gradient goes to the original index of its element.
pub(crate) fn sort_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    dim: i64,
    indices: &Tensor<'c>,
) -> Result<()> {
    grad_input.dimension(dim)?;
    let dout = call.to_type(grad_output, grad_input.data_type())?;
    let method = Method::new("argsort_grad", FLOAT);
    kernel(call, grad_input, dout.data_type(), &[&dout, indices], &method, &mut |device, launch, out| {
        device.argsort_grad(launch, out, indices.elements(), dout.elements(), dim)
    })
}

/// Finds the largest or smallest elements along a dimension, and their indices.
pub(crate) fn topk<'c>(
    call: &'c Call,
    values: &Tensor<'c>,
    indices: &Tensor<'c>,
    input: &Tensor<'c>,
    k: i64,
    dim: i64,
    largest: bool,
) -> Result<()> {
    input.dimension(dim)?;
    let input = numeric(call, input)?;
    let mut found = call.output(values, input.data_type(), &[&input])?;
    let mut places = call.output(indices, DataType::INT64, &[&input])?;
    call.run(&Method::new("topk", FLOAT | INTEGER), input.data_type(), &mut |device, launch| {
        device.topk(
            launch,
            found.elements(),
            places.elements(),
            input.elements(),
            &TopkAttributes { k, axis: dim, largest },
        )
    })?;
    found.finish()?;
    places.finish()
}

/// Finds the unique elements, or the unique slices along a dimension, in order. Waits for the input.
///
/// `indices` receives the position of each element among the unique ones, and `counts` the number of
/// occurrences of each. Each NaN is unique.
pub(crate) fn unique<'c>(
    call: &'c Call,
    out: Place,
    indices: Option<&Tensor<'c>>,
    counts: Option<Place>,
    input: &Tensor<'c>,
    dim: Option<i64>,
    return_counts: bool,
) -> Result<()> {
    let ty = input.data_type();
    let mut x = numeric(call, input)?;
    // PyTorch compares slices with their elements in the order that results from swapping the dimension with
    // the first one.
    let along = match dim {
        Some(dim) if x.rank() > 0 => Some(x.dimension(dim)?),
        _ => None,
    };
    if let Some(along) = along {
        x = x.transposed(0, along)?;
    }
    let axis: Vec<i64> = along.map(|_| 0).into_iter().collect();
    let method = Method::new("unique", FLOAT | INTEGER);
    let mut dims = Vec::new();
    call.run(&method, x.data_type(), &mut |device, launch| {
        dims = device.unique_out_shape(launch, x.elements(), &axis, false)?;
        Ok(())
    })?;
    let count = dims.first().copied().unwrap_or(0);
    let rows = if axis.is_empty() { x.len() } else { x.dims()[0] };
    let groups = indices.map(|_| call.temporary(DataType::INT64, &[rows])).transpose()?;
    dims.swap(0, along.unwrap_or(0));
    let mut out = call.make(out, ty, &dims)?;
    if let Some(along) = along {
        out = out.transposed(0, along)?;
    }
    let counts = match counts {
        Some(place) if return_counts => Some(call.make(place, DataType::INT64, &[count])?),
        None if return_counts => return Err(Error::invalid("`counts` is null")),
        _ => None,
    };
    let mut found = call.output(&out, x.data_type(), &[&x])?;
    let output = |tensor: &Option<Tensor<'c>>| {
        tensor.as_ref().map(|tensor| call.output(tensor, DataType::INT64, &[&x])).transpose()
    };
    let (mut inverse, mut counted) = (output(&groups)?, output(&counts)?);
    call.run(&method, x.data_type(), &mut |device, launch| {
        let (inverse, counted) = (inverse.as_mut(), counted.as_mut());
        let [inverse, counted] = [inverse, counted].map(|output| output.map(|output| output.elements()));
        device.unique(launch, found.elements(), None, inverse, counted, x.elements(), &axis, false)
    })?;
    found.finish()?;
    if let (Some(indices), Some(groups)) = (indices, groups) {
        let dims = if axis.is_empty() { x.dims().to_vec() } else { vec![rows] };
        expect_shape("indices", indices, &dims)?;
        call.copy(indices, &groups.reshaped(&dims)?)?;
    }
    Ok(())
}
