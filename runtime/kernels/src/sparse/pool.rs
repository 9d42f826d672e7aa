//! Pooling of sparse voxels.

use super::Pairs;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`sparse_max_pool`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Attribute`] for a negative number.
pub fn sparse_max_pool_shape(
    x: TensorMeta<'_>,
    _pairs: TensorMeta<'_>,
    _counts: TensorMeta<'_>,
    voxels: i64,
) -> Result<Vec<usize>> {
    let &[_, features] = x.dims() else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 2 });
    };
    let count = usize::try_from(voxels);
    Ok(vec![count.map_err(|_| Error::Attribute { name: "voxels", value: voxels.to_string() })?, features])
}

/// Computes the maximum of 0 and the features of the voxels that each voxel of the result is connected with, `[voxels,
/// features]`.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Index`], [`Error::Attribute`] for a negative number, and [`Error::Type`].
pub fn sparse_max_pool(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    pairs: &View<'_>,
    counts: &View<'_>,
    voxels: i64,
) -> Result<()> {
    let shape = sparse_max_pool_shape(x.meta(), pairs.meta(), counts.meta(), voxels)?;
    expect_shape(&shape, out.dims())?;
    let pairs = Pairs::new(pairs, counts, false, [x.dims()[0], shape[0]])?;
    let features = shape[1];
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(0.0);
            for [from, to] in (0..pairs.counts.len()).flat_map(|element| pairs.of(element)) {
                for feature in 0..features {
                    let (value, largest) = (x[from * features + feature], &mut out[to * features + feature]);
                    if value > *largest {
                        *largest = value;
                    }
                }
            }
            Ok(())
        })
    })
}

/// Computes the gradient of [`sparse_max_pool`] with respect to the features. Each feature that equals its maximum has
/// the gradient of it.
///
/// # Errors
/// As [`sparse_max_pool`].
pub fn sparse_max_pool_grad(
    dx: &mut ViewMut<'_>,
    x: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    pairs: &View<'_>,
    counts: &View<'_>,
) -> Result<()> {
    let (&[rows, features], &[voxels, _]) = (x.dims(), out.dims()) else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 2 });
    };
    expect_shape(&[voxels, features], out.dims())?;
    expect_shape(out.dims(), dout.dims())?;
    expect_shape(x.dims(), dx.dims())?;
    let pairs = Pairs::new(pairs, counts, false, [rows, voxels])?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 3>([dx.reborrow()], [x, out, dout], |[dx], [x, out, dout]| {
            dx.fill(0.0);
            for [from, to] in (0..pairs.counts.len()).flat_map(|element| pairs.of(element)) {
                for feature in 0..features {
                    let (source, target) = (from * features + feature, to * features + feature);
                    if x[source] == out[target] {
                        dx[source] += dout[target];
                    }
                }
            }
            Ok(())
        })
    })
}
