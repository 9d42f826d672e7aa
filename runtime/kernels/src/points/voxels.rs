//! Groups points by voxels.

use std::collections::HashMap;

use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{Slot, elements, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`voxel_coordinates`].
///
/// # Errors
/// None.
pub fn voxel_coordinates_shape(
    x: TensorMeta<'_>,
    voxel_size: TensorMeta<'_>,
    _range: TensorMeta<'_>,
) -> Result<Vec<usize>> {
    Ok(vec![x.dims().first().copied().unwrap_or(0), voxel_size.dims().iter().product()])
}

/// Computes the voxel of each point `[points, features]`, whose first features are coordinates.
///
/// `range` holds the minimum coordinates, then the maximum. The coordinates of a voxel are in reverse order,
/// and -1 for a point outside the range.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`], and [`Error::Type`] unless the points are floating-point.
pub fn voxel_coordinates(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    voxel_size: &View<'_>,
    range: &View<'_>,
) -> Result<()> {
    expect_shape(&voxel_coordinates_shape(x.meta(), voxel_size.meta(), range.meta())?, out.dims())?;
    let axes = voxel_size.len();
    let mut places = Vec::with_capacity(out.len());
    for voxel in voxels(x, voxel_size, range)? {
        match voxel {
            Some(voxel) => places.extend(voxel),
            None => places.extend(std::iter::repeat_n(-1, axes)),
        }
    }
    store_integers(out, &places)
}

/// Groups points by voxels, in the order of their first points.
///
/// A point is dropped if it is outside the range, if its voxel is full, or if it would need another voxel and
/// none is left. Unused slots are zero. `used` becomes the number of voxels.
///
/// # Errors
/// As [`voxel_coordinates`].
pub fn voxelize(
    out: &mut ViewMut<'_>,
    coordinates: &mut ViewMut<'_>,
    counts: &mut ViewMut<'_>,
    used: &mut ViewMut<'_>,
    x: &View<'_>,
    voxel_size: &View<'_>,
    range: &View<'_>,
) -> Result<()> {
    let (&[available, capacity, features], &[points, _]) = (out.dims(), x.dims()) else {
        return Err(Error::Rank { dims: out.dims().len(), strides: 3 });
    };
    let axes = voxel_size.len();
    expect_shape(&[points, features], x.dims())?;
    expect_shape(&[available, axes], coordinates.dims())?;
    expect_shape(&[available], counts.dims())?;
    expect_length("used", 1, used.len())?;
    let voxels = voxels(x, voxel_size, range)?;
    let mut places = vec![0; available * axes];
    let mut sizes = vec![0_usize; available];
    let mut known = HashMap::new();
    // The destination of each point.
    let mut targets = vec![None; points];
    for (target, voxel) in targets.iter_mut().zip(voxels) {
        let Some(voxel) = voxel else { continue };
        let number = known.len();
        let number = match known.get(&voxel) {
            Some(&number) => number,
            None if number == available => continue,
            None => {
                places[number * axes..][..axes].copy_from_slice(&voxel);
                known.insert(voxel, number);
                number
            }
        };
        if sizes[number] < capacity {
            *target = Some(number * capacity + sizes[number]);
            sizes[number] += 1;
        }
    }
    with_float!(x.dtype(), T => {
        let mut grouped = vec![T::EMPTY; available * capacity * features];
        {
            let x = elements::<T>(x)?;
            for (point, target) in targets.iter().enumerate() {
                if let &Some(target) = target {
                    let row = &x[point * features..][..features];
                    grouped[target * features..][..features].copy_from_slice(row);
                }
            }
        }
        T::store(out, &grouped)
    })?;
    store_integers(coordinates, &places)?;
    store_integers(counts, &sizes.iter().map(|&size| size as i64).collect::<Vec<_>>())?;
    store_integers(used, &[known.len() as i64])
}

/// Returns the voxel of each point that is in the range.
fn voxels(x: &View<'_>, voxel_size: &View<'_>, range: &View<'_>) -> Result<Vec<Option<Vec<i64>>>> {
    let &[points, features] = x.dims() else {
        return Err(Error::Rank { dims: x.dims().len(), strides: 2 });
    };
    let axes = voxel_size.len();
    expect_length("range", 2 * axes, range.len())?;
    if features < axes {
        return Err(Error::Shape { expected: vec![points, axes], actual: x.dims().to_vec() });
    }
    with_float!(x.dtype(), T => {
        let [x, size, range] = [elements::<T>(x)?, elements::<T>(voxel_size)?, elements::<T>(range)?];
        let (low, high) = range.split_at(axes);
        let grid: Vec<f64> =
            (0..axes).map(|axis| sizes(low[axis], high[axis], size[axis]).round()).collect();
        let voxel = |point: usize| {
            let index = |axis: usize| {
                let place = sizes(low[axis], x[point * features + axis], size[axis]).floor();
                (place >= 0.0 && place < grid[axis]).then_some(place as i64)
            };
            (0..axes).rev().map(index).collect::<Option<Vec<i64>>>()
        };
        Ok((0..points).map(voxel).collect())
    })
}

/// Returns the number of voxels between two coordinates.
fn sizes<T: Float>(from: T, to: T, size: T) -> f64 {
    ((to - from) / size).into()
}
