//! Rules for the pooling of points. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use std::collections::BTreeMap;

use tenon::device::{DataType, Error, Result};

use crate::compute::rules::language_models::inference::integers;
use crate::compute::rules::shared::kernel;
use crate::compute::{Call, FLOAT, Method, Place, Tensor};
use crate::error::unsupported;

/// Returns the name of a way to pool the features of points.
fn method(reduce_type: i64) -> Result<&'static str> {
    let names = ["sum", "mean", "max"];
    let name = usize::try_from(reduce_type).ok().and_then(|index| names.get(index));
    name.copied().ok_or_else(|| Error::invalid(format!("`reduce_type` is {reduce_type}, not 0, 1 or 2")))
}

/// Pools the features of the points of each voxel. Waits for the voxels of the points.
///
/// The four results are the features and the coordinates of the voxels, the voxel of each point, and the number of
/// points of each voxel.
pub(crate) fn pool_voxels<'c>(
    call: &'c Call,
    results: Place,
    features: &Tensor<'c>,
    coordinates: &Tensor<'c>,
    reduce_type: i64,
) -> Result<()> {
    let name = method(reduce_type)?;
    let (&[points, width], &[rows, axes]) = (features.dims(), coordinates.dims()) else {
        let message =
            format!("`feats` has the shape {:?}, `coors` {:?}", features.dims(), coordinates.dims());
        return Err(Error::invalid(message));
    };
    if points != rows || axes == 0 {
        return Err(Error::invalid(format!("`coors` has the shape [{rows}, {axes}] for {points} points")));
    }
    let numbers = integers(call, coordinates)?;
    let mut counts = BTreeMap::new();
    for voxel in numbers.chunks(axes).filter(|voxel| is_valid(voxel)) {
        *counts.entry(voxel).or_insert(0_i64) += 1;
    }
    let order: BTreeMap<&[i64], i64> = counts.keys().copied().zip(0..).collect();
    let of_point = |voxel: &[i64]| order.get(voxel).copied().unwrap_or(-1);
    let of_points: Vec<i64> = numbers.chunks(axes).map(of_point).collect();
    let [pooled, voxels, map, sizes] = results.list();
    let upload = |dims: &[usize], numbers: &mut dyn Iterator<Item = i64>| {
        let bytes: Vec<u8> = numbers.flat_map(i64::to_ne_bytes).collect();
        call.upload(DataType::INT64, dims, &bytes)
    };
    let indices = upload(&[points], &mut of_points.iter().copied())?;
    let lists = [
        (
            voxels,
            coordinates.data_type(),
            upload(&[counts.len(), axes], &mut counts.keys().copied().flatten().copied())?,
        ),
        (map, DataType::INT32, indices.clone()),
        (sizes, DataType::INT32, upload(&[counts.len()], &mut counts.values().copied())?),
    ];
    let ty = features.data_type();
    let out = call.make(pooled, ty, &[counts.len(), width])?;
    kernel(
        call,
        &out,
        ty,
        &[features, &indices],
        &Method::new("pool_points", FLOAT),
        &mut |device, launch, out| {
            device.pool_points(launch, out, features.elements(), indices.elements(), name)
        },
    )?;
    for (place, ty, list) in lists {
        call.copy(&call.make(place, ty, list.dims())?, &list)?;
    }
    Ok(())
}

/// Returns true if a point has a voxel.
fn is_valid(voxel: &[i64]) -> bool {
    voxel.iter().all(|&number| number >= 0)
}

/// Computes the gradient of [`pool_voxels`] with respect to the features of the points.
pub(crate) fn pool_voxels_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    upstream: &Tensor<'c>,
    features: &Tensor<'c>,
    indices: &Tensor<'c>,
    reduce_type: i64,
) -> Result<()> {
    let name = method(reduce_type)?;
    let inputs = [features, indices, upstream];
    let method = Method::new("pool_points_grad", FLOAT);
    kernel(call, gradient, features.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [features, indices, upstream] = inputs.map(Tensor::elements);
        device.pool_points_grad(launch, out, features, indices, upstream, name)
    })
}

fn is_mean(pool_method: i64) -> Result<bool> {
    match pool_method {
        0 | 1 => Ok(pool_method == 1),
        other => Err(Error::invalid(format!("`pool_method` is {other}, neither 0 nor 1"))),
    }
}

/// Pools the features of the points in the voxels of boxes.
pub(crate) fn pool_boxes<'c>(
    call: &'c Call,
    indices: &Tensor<'c>,
    voxels: &Tensor<'c>,
    out: &Tensor<'c>,
    boxes: &Tensor<'c>,
    points: &Tensor<'c>,
    features: &Tensor<'c>,
    pool_method: i64,
) -> Result<()> {
    let mean = is_mean(pool_method)?;
    let inputs = [boxes, points, features];
    let output = |target| call.output(target, DataType::INT64, &inputs);
    let (mut indices, mut voxels) = (output(indices)?, output(voxels)?);
    let method = Method::new("roi_aware_pool", FLOAT);
    kernel(call, out, features.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [boxes, points, features] = inputs.map(Tensor::elements);
        let (indices, voxels) = (indices.elements(), voxels.elements());
        device.roi_aware_pool(launch, out, indices, voxels, boxes, points, features, mean)
    })?;
    indices.finish()?;
    voxels.finish()
}

/// Computes the gradient of [`pool_boxes`] with respect to the features.
pub(crate) fn pool_boxes_backward<'c>(
    call: &'c Call,
    gradient: &Tensor<'c>,
    voxels: &Tensor<'c>,
    indices: &Tensor<'c>,
    upstream: &Tensor<'c>,
    pool_method: i64,
) -> Result<()> {
    let mean = is_mean(pool_method)?;
    let inputs = [upstream, voxels, indices];
    let method = Method::new("roi_aware_pool_grad", FLOAT);
    kernel(call, gradient, upstream.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [upstream, voxels, indices] = inputs.map(Tensor::elements);
        device.roi_aware_pool_grad(launch, out, upstream, voxels, indices, mean)
    })
}

fn expect_sum(aggregate: i64) -> Result<()> {
    match aggregate {
        0 => Ok(()),
        other => Err(unsupported(format!("the aggregation {other} is not implemented, only 0"))),
    }
}

/// Sums the features of neighbours with the scores of weight matrices.
pub(crate) fn assign_scores<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    points: &Tensor<'c>,
    centers: &Tensor<'c>,
    scores: &Tensor<'c>,
    indices: &Tensor<'c>,
    aggregate: i64,
) -> Result<()> {
    expect_sum(aggregate)?;
    let inputs = [points, centers, scores, indices];
    let method = Method::new("assign_scores", FLOAT);
    kernel(call, out, points.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [points, centers, scores, indices] = inputs.map(Tensor::elements);
        device.assign_scores(launch, out, points, centers, scores, indices)
    })
}

/// Computes the gradients of [`assign_scores`].
pub(crate) fn assign_scores_backward<'c>(
    call: &'c Call,
    of_points: &Tensor<'c>,
    of_centers: &Tensor<'c>,
    of_scores: &Tensor<'c>,
    upstream: &Tensor<'c>,
    points: &Tensor<'c>,
    centers: &Tensor<'c>,
    scores: &Tensor<'c>,
    indices: &Tensor<'c>,
    aggregate: i64,
) -> Result<()> {
    expect_sum(aggregate)?;
    let inputs = [upstream, points, centers, scores, indices];
    let mut of_centers = call.output(of_centers, centers.data_type(), &inputs)?;
    let mut of_scores = call.output(of_scores, scores.data_type(), &inputs)?;
    let method = Method::new("assign_scores_grad", FLOAT);
    kernel(call, of_points, points.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [upstream, points, centers, scores, indices] = inputs.map(Tensor::elements);
        let (of_centers, of_scores) = (of_centers.elements(), of_scores.elements());
        device.assign_scores_grad(
            launch, out, of_centers, of_scores, points, centers, scores, indices, upstream,
        )
    })?;
    of_centers.finish()?;
    of_scores.finish()
}
