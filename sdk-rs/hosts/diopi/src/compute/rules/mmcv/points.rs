//! Rules for points in space. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};

use crate::compute::rules::language_models::inference::{index, integers, rows as rows_at};
use crate::compute::rules::selection::indexing;
use crate::compute::rules::shared::{expect_shape, kernel, sum};
use crate::compute::rules::terms;
use crate::compute::{Call, DataType, FLOAT, Method, Tensor, wide};

/// Reads the features of points, `[batch, features, points]`, at the indices into their cloud.
pub(crate) fn gather<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    points: &Tensor<'c>,
    indices: &Tensor<'c>,
) -> Result<()> {
    let found = at(call, points, indices)?;
    expect_shape("out", out, found.dims())?;
    call.copy(out, &found)
}

/// Adds the gradients of [`gather`] to the points that they belong to.
pub(crate) fn gather_backward<'c>(
    call: &'c Call,
    grad_points: &Tensor<'c>,
    grad_out: &Tensor<'c>,
    indices: &Tensor<'c>,
) -> Result<()> {
    let &[_, features, _] = grad_points.dims() else {
        return Err(Error::invalid(format!("`grad_points` has the shape {:?}", grad_points.dims())));
    };
    let rows = rows(call, indices, features)?;
    let ty = wide(grad_points.data_type());
    let gradients = call.packed(&call.to_type(grad_out, ty)?)?.reshaped(rows.dims())?;
    let sums = call.temporary(ty, grad_points.dims())?;
    indexing::gather_grad(call, &sums, &gradients, 2, &rows)?;
    call.copy(grad_points, &sums)
}

/// Returns the elements at the indices of each cloud: `[batch, features, …]` for indices `[batch, …]`.
fn at<'c>(call: &'c Call, points: &Tensor<'c>, indices: &Tensor<'c>) -> Result<Tensor<'c>> {
    let &[_, features, _] = points.dims() else {
        return Err(Error::invalid(format!("points have the shape {:?}", points.dims())));
    };
    let rows = rows(call, indices, features)?;
    let found = call.temporary(points.data_type(), rows.dims())?;
    indexing::gather(call, &found, points, 2, &rows)?;
    found.reshaped(&[&[indices.dims()[0], features], &indices.dims()[1..]].concat())
}

/// Repeats the indices of a cloud for each feature: `[batch, features, indices]`.
fn rows<'c>(call: &'c Call, indices: &Tensor<'c>, features: usize) -> Result<Tensor<'c>> {
    let Some((&batch, rest)) = indices.dims().split_first() else {
        return Err(Error::invalid("indices have no dimensions"));
    };
    let count = rest.iter().product();
    call.packed(indices)?.reshaped(&[batch, 1, count])?.expanded(&[batch, features, count])
}

/// Reads the features, `[points, features]`, of concatenated clouds at the indices into each cloud.
pub(crate) fn gather_stacked<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    features: &Tensor<'c>,
    counts: &Tensor<'_>,
    indices: &Tensor<'c>,
    index_counts: &Tensor<'_>,
) -> Result<()> {
    let rows = stacked_rows(call, features, counts, indices, index_counts)?;
    let found = rows_at(call, features, &rows)?;
    let (groups, width) = (indices.dims()[0], features.dims()[1]);
    let found = found.reshaped(&[groups, indices.dims()[1], width])?.permuted(&[0, 2, 1])?;
    expect_shape("out_tensor", out, found.dims())?;
    call.copy(out, &found)
}

/// Adds the gradients of [`gather_stacked`] to the points that they belong to.
pub(crate) fn gather_stacked_backward<'c>(
    call: &'c Call,
    grad_features: &Tensor<'c>,
    grad_out: &Tensor<'c>,
    indices: &Tensor<'c>,
    index_counts: &Tensor<'_>,
    counts: &Tensor<'_>,
) -> Result<()> {
    let rows = stacked_rows(call, grad_features, counts, indices, index_counts)?;
    let ty = wide(grad_features.data_type());
    let (groups, count, width) = (indices.dims()[0], indices.dims()[1], grad_features.dims()[1]);
    expect_shape("grad_out_tensor", grad_out, &[groups, width, count])?;
    let gradients = call.packed(&call.to_type(grad_out, ty)?.permuted(&[0, 2, 1])?)?;
    let gradients = gradients.reshaped(&[groups * count, width])?;
    let inputs = [&gradients, &rows];
    kernel(
        call,
        grad_features,
        ty,
        &inputs,
        &Method::new("gather_grad", FLOAT),
        &mut |device, launch, out| device.gather_grad(launch, out, rows.elements(), gradients.elements(), 0),
    )
}

/// Converts the indices `[groups, points]` into each cloud to row indices into all clouds.
fn stacked_rows<'c>(
    call: &'c Call,
    features: &Tensor<'_>,
    counts: &Tensor<'_>,
    indices: &Tensor<'_>,
    index_counts: &Tensor<'_>,
) -> Result<Tensor<'c>> {
    let (&[points, _], &[groups, count]) = (features.dims(), indices.dims()) else {
        let message = format!("features have the shape {:?}, indices {:?}", features.dims(), indices.dims());
        return Err(Error::invalid(message));
    };
    let (counts, index_counts) = (integers(call, counts)?, integers(call, index_counts)?);
    let numbers = integers(call, indices)?;
    let (mut rows, mut start) = (Vec::with_capacity(8 * groups * count), 0_usize);
    let mut rest = numbers.iter();
    for (&len, &own) in counts.iter().zip(&index_counts) {
        let (len, own) = (index("a number of points", len)?, index("a number of groups", own)?);
        for &number in rest.by_ref().take(own.saturating_mul(count)) {
            let place = index("the list of indices", number)?;
            if place >= len || start.saturating_add(place) >= points {
                return Err(Error::invalid(format!("the index {number} is not in a cloud of {len} points")));
            }
            rows.extend(((start + place) as i64).to_ne_bytes());
        }
        start = start.saturating_add(len);
    }
    if rest.next().is_some() {
        return Err(Error::invalid("there are more groups than those of the clouds"));
    }
    call.upload(DataType::INT64, &[groups * count], &rows)
}

/// Computes the weighted sum of the features of three points for each query.
pub(crate) fn interpolate<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    points: &Tensor<'c>,
    indices: &Tensor<'c>,
    weight: &Tensor<'c>,
) -> Result<()> {
    expect_shape("weight", weight, indices.dims())?;
    let ty = wide(points.data_type());
    let found = call.to_type(&at(call, points, indices)?, ty)?;
    let weighted = terms::multiply(call, &found, &call.to_type(weight, ty)?.unsqueezed(1)?)?;
    sum(call, out, &weighted, &[-1])
}

/// Computes the gradient of [`interpolate`] with respect to the features.
pub(crate) fn interpolate_backward<'c>(
    call: &'c Call,
    grad_points: &Tensor<'c>,
    grad_out: &Tensor<'c>,
    indices: &Tensor<'c>,
    weight: &Tensor<'c>,
) -> Result<()> {
    expect_shape("weight", weight, indices.dims())?;
    let ty = wide(grad_points.data_type());
    let grad_out = call.to_type(grad_out, ty)?;
    let weight = call.to_type(weight, ty)?.unsqueezed(1)?;
    let spread = terms::multiply(call, &grad_out.unsqueezed(grad_out.rank())?, &weight)?;
    gather_backward(call, grad_points, &spread, indices)
}

/// Finds the nearest point in the other cloud for each point.
pub(crate) fn chamfer<'c>(
    call: &'c Call,
    first_distances: &Tensor<'c>,
    second_distances: &Tensor<'c>,
    first_indices: &Tensor<'c>,
    second_indices: &Tensor<'c>,
    first: &Tensor<'c>,
    second: &Tensor<'c>,
) -> Result<()> {
    nearest(call, first_distances, first_indices, first, second)?;
    nearest(call, second_distances, second_indices, second, first)
}

fn nearest<'c>(
    call: &'c Call,
    distances: &Tensor<'c>,
    indices: &Tensor<'c>,
    queries: &Tensor<'c>,
    points: &Tensor<'c>,
) -> Result<()> {
    let (distances, indices) = (distances.unsqueezed(distances.rank())?, indices.unsqueezed(indices.rank())?);
    let inputs = [queries, points];
    let mut places = call.output(&indices, DataType::INT64, &inputs)?;
    let method = Method::new("nearest_points", FLOAT);
    kernel(call, &distances, queries.data_type(), &inputs, &method, &mut |device, launch, out| {
        device.nearest_points(launch, out, places.elements(), queries.elements(), points.elements(), 1)
    })?;
    places.finish()
}

/// Computes the gradients of [`chamfer`] with respect to both clouds.
pub(crate) fn chamfer_backward<'c>(
    call: &'c Call,
    first_gradient: &Tensor<'c>,
    second_gradient: &Tensor<'c>,
    first: &Tensor<'c>,
    second: &Tensor<'c>,
    first_indices: &Tensor<'c>,
    second_indices: &Tensor<'c>,
    of_first: &Tensor<'c>,
    of_second: &Tensor<'c>,
) -> Result<()> {
    let ty = wide(first.data_type());
    let (first, second) = (call.to_type(first, ty)?, call.to_type(second, ty)?);
    // The gradients of the distances of a cloud's points: those of the points, and the negated ones of the
    // nearest points.
    let own = |own: &Tensor<'c>, other: &Tensor<'c>, indices: &Tensor<'c>, gradient: &Tensor<'c>| {
        let nearest = at(call, &other.transposed(1, 2)?, indices)?.transposed(1, 2)?;
        let difference = terms::subtract(call, own, &nearest)?;
        let factor = terms::scale(call, &call.to_type(gradient, ty)?, 2.0, 0.0)?;
        terms::multiply(call, &difference, &factor.unsqueezed(factor.rank())?)
    };
    let of_first = own(&first, &second, first_indices, of_first)?;
    let of_second = own(&second, &first, second_indices, of_second)?;
    let total = |target: &Tensor<'c>, own: &Tensor<'c>, other: &Tensor<'c>, indices: &Tensor<'c>| {
        let sums = call.temporary(ty, own.dims())?;
        gather_backward(call, &sums.transposed(1, 2)?, &other.transposed(1, 2)?, indices)?;
        call.copy(target, &terms::subtract(call, own, &sums)?)
    };
    total(first_gradient, &of_first, &of_second, second_indices)?;
    total(second_gradient, &of_second, &of_first, first_indices)
}

/// Groups points by voxels.
pub(crate) fn voxelize<'c>(
    call: &'c Call,
    voxels: &Tensor<'c>,
    coordinates: &Tensor<'c>,
    counts: &Tensor<'c>,
    used: &Tensor<'c>,
    points: &Tensor<'c>,
    voxel_size: &Tensor<'c>,
    range: &Tensor<'c>,
    max_points: i64,
    max_voxels: i64,
) -> Result<()> {
    if !voxels.dims().iter().map(|&dim| dim as i64).take(2).eq([max_voxels, max_points]) {
        let message = format!("{max_voxels} voxels of {max_points} points are not {:?}", voxels.dims());
        return Err(Error::invalid(message));
    }
    let inputs = [points, voxel_size, range];
    let output = |target| call.output(target, DataType::INT64, &inputs);
    let (mut coordinates, mut counts, mut used) = (output(coordinates)?, output(counts)?, output(used)?);
    let method = Method::new("voxelize", FLOAT);
    kernel(call, voxels, points.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [x, voxel_size, range] = inputs.map(Tensor::elements);
        let (coordinates, counts) = (coordinates.elements(), counts.elements());
        device.voxelize(launch, out, coordinates, counts, used.elements(), x, voxel_size, range)
    })?;
    [coordinates, counts, used].into_iter().try_for_each(|out| out.finish())
}
