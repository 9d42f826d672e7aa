//! Rules for sparse voxels. The semantics are those of MMCV's operators.

#![allow(clippy::too_many_arguments, reason = "rules take the parameters of DIOPI's functions")]

use tenon::device::{Error, Result};
use tenon_operators::attributes::SparseConvolutionAttributes;

use crate::compute::rules::shared::kernel;
use crate::compute::{Call, FLOAT, Method, Place, Tensor};

/// Returns the shape of rows with as many columns as the last dimension of another tensor.
fn rows(name: &str, count: i64, like: &Tensor<'_>) -> Result<[usize; 2]> {
    let count = usize::try_from(count).map_err(|_| Error::invalid(format!("`{name}` is {count}")))?;
    Ok([count, like.dims().last().copied().unwrap_or(0)])
}

/// Computes a convolution of sparse voxels.
pub(crate) fn convolution<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    filters: &Tensor<'c>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
    voxels: i64,
    inverse: i64,
    submanifold: i64,
) -> Result<()> {
    convolved(call, out, x, filters, None, pairs, counts, voxels, inverse, submanifold)
}

/// Computes a convolution of sparse voxels, and adds a bias.
pub(crate) fn convolution_with_bias<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    filters: &Tensor<'c>,
    bias: &Tensor<'c>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
    voxels: i64,
    inverse: i64,
    submanifold: i64,
) -> Result<()> {
    convolved(call, out, x, filters, Some(bias), pairs, counts, voxels, inverse, submanifold)
}

fn convolved<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    filters: &Tensor<'c>,
    bias: Option<&Tensor<'c>>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
    voxels: i64,
    inverse: i64,
    submanifold: i64,
) -> Result<()> {
    let ty = x.data_type();
    let out = call.make(out, ty, &rows("numActOut", voxels, filters)?)?;
    let inputs = [x, filters, pairs, counts];
    kernel(call, &out, ty, &inputs, &Method::new("sparse_convolution", FLOAT), &mut |device, launch, out| {
        let ([x, filters, pairs, counts], bias) = (inputs.map(Tensor::elements), bias.map(Tensor::elements));
        let (inverse, submanifold) = (inverse != 0, submanifold != 0);
        device.sparse_convolution(
            launch,
            out,
            x,
            filters,
            pairs,
            counts,
            bias,
            &SparseConvolutionAttributes { voxels, inverse, submanifold },
        )
    })
}

/// Computes the gradients of [`convolution`]: that of the features, then that of the filters.
pub(crate) fn convolution_backward<'c>(
    call: &'c Call,
    results: Place,
    x: &Tensor<'c>,
    filters: &Tensor<'c>,
    upstream: &Tensor<'c>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
    inverse: i64,
    submanifold: i64,
) -> Result<()> {
    let [of_x, of_filters] = results.list();
    let of_x = call.make(of_x, x.data_type(), x.dims())?;
    let of_filters = call.make(of_filters, filters.data_type(), filters.dims())?;
    let inputs = [x, filters, pairs, counts, upstream];
    let mut slopes = call.output(&of_filters, filters.data_type(), &inputs)?;
    let method = Method::new("sparse_convolution_grad", FLOAT);
    kernel(call, &of_x, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [x, filters, pairs, counts, upstream] = inputs.map(Tensor::elements);
        let (slopes, inverse, submanifold) = (slopes.elements(), inverse != 0, submanifold != 0);
        device.sparse_convolution_grad(
            launch,
            out,
            slopes,
            x,
            filters,
            pairs,
            counts,
            upstream,
            inverse,
            submanifold,
        )
    })?;
    slopes.finish()
}

/// Finds the largest features of connected voxels, at least 0.
pub(crate) fn max_pool<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
    voxels: i64,
) -> Result<()> {
    let out = call.make(out, x.data_type(), &rows("numAct", voxels, x)?)?;
    let method = Method::new("sparse_max_pool", FLOAT);
    kernel(call, &out, x.data_type(), &[x, pairs, counts], &method, &mut |device, launch, out| {
        device.sparse_max_pool(launch, out, x.elements(), pairs.elements(), counts.elements(), voxels)
    })
}

/// Computes the gradient of [`max_pool`] with respect to the features.
pub(crate) fn max_pool_backward<'c>(
    call: &'c Call,
    out: Place,
    x: &Tensor<'c>,
    largest: &Tensor<'c>,
    upstream: &Tensor<'c>,
    pairs: &Tensor<'c>,
    counts: &Tensor<'c>,
) -> Result<()> {
    let out = call.make(out, x.data_type(), x.dims())?;
    let inputs = [x, largest, upstream, pairs, counts];
    let method = Method::new("sparse_max_pool_grad", FLOAT);
    kernel(call, &out, x.data_type(), &inputs, &method, &mut |device, launch, out| {
        let [x, largest, upstream, pairs, counts] = inputs.map(Tensor::elements);
        device.sparse_max_pool_grad(launch, out, x, largest, upstream, pairs, counts)
    })
}
