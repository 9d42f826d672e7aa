//! Pooling of points in the voxels of boxes (Shi et al., "From Points to Parts", 2020).

use super::boxes::Cuboid;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, floats, integers, store_integers};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Computes the largest feature or, with `mean`, the mean of the features of the points in each voxel of each box,
/// `[boxes, x, y, z, features]`.
///
/// Boxes are those of [`points_in_boxes`](super::points_in_boxes). `voxels`, `[boxes, x, y, z, capacity]`, becomes the
/// number of points of each voxel, then their indices; points for which there is no place are left out. `indices`
/// becomes the point of each largest feature, -1 for a voxel without points, whose features are 0, and 0 for means.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], and [`Error::Type`].
pub fn roi_aware_pool(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    voxels: &mut ViewMut<'_>,
    boxes: &View<'_>,
    x: &View<'_>,
    features: &View<'_>,
    mean: bool,
) -> Result<()> {
    let sizes = Sizes::new(out.dims(), voxels.dims(), features.dims())?;
    expect_shape(out.dims(), indices.dims())?;
    expect_shape(&[sizes.boxes, 7], boxes.dims())?;
    expect_shape(&[sizes.points, 3], x.dims())?;
    let lists = sizes.lists(&floats(boxes)?, &floats(x)?);
    with_float!(features.dtype(), T => {
        let (mut results, mut places) = (vec![T::ZERO; out.len()], vec![0; out.len()]);
        {
            let features = elements::<T>(features)?;
            for (n, result) in results.iter_mut().enumerate() {
                let (list, feature) = (sizes.points_of(&lists, n / sizes.features)?, n % sizes.features);
                let value = |point: &usize| features[point * sizes.features + feature];
                if mean {
                    let sum = list.iter().fold(T::ZERO, |sum, point| sum + value(point));
                    *result = sum / T::of(list.len().max(1) as f64);
                    continue;
                }
                places[n] = -1;
                for point in &list {
                    if places[n] < 0 || value(point) > *result {
                        (*result, places[n]) = (value(point), *point as i64);
                    }
                }
            }
        }
        T::store(out, &results)?;
        store_integers(indices, &places)
    })?;
    store_integers(voxels, &lists)
}

/// Computes the gradient of [`roi_aware_pool`] with respect to the features.
///
/// # Errors
/// As [`roi_aware_pool`], and [`Error::Index`] for a point that does not exist.
pub fn roi_aware_pool_grad(
    dfeatures: &mut ViewMut<'_>,
    dout: &View<'_>,
    voxels: &View<'_>,
    indices: &View<'_>,
    mean: bool,
) -> Result<()> {
    let sizes = Sizes::new(dout.dims(), voxels.dims(), dfeatures.dims())?;
    expect_shape(dout.dims(), indices.dims())?;
    let (lists, places) = (integers(voxels)?, integers(indices)?);
    with_float!(dfeatures.dtype(), T => {
        let mut gradient = vec![T::ZERO; dfeatures.len()];
        for (n, &upstream) in elements::<T>(dout)?.iter().enumerate() {
            let feature = n % sizes.features;
            let list = match mean {
                true => sizes.points_of(&lists, n / sizes.features)?,
                false if places[n] < 0 => vec![],
                false => vec![sizes.point(places[n])?],
            };
            for point in &list {
                gradient[point * sizes.features + feature] += upstream / T::of(list.len() as f64);
            }
        }
        T::store(dfeatures, &gradient)
    })
}

struct Sizes {
    boxes: usize,
    /// The number of voxels in each direction.
    grid: [usize; 3],
    /// The length of the list of a voxel.
    list: usize,
    points: usize,
    features: usize,
}

impl Sizes {
    fn new(out: &[usize], voxels: &[usize], features: &[usize]) -> Result<Self> {
        let (&[boxes, x, y, z, width], &[points, _]) = (out, features) else {
            return Err(Error::Rank { dims: out.len(), strides: 5 });
        };
        let list = voxels.last().copied().unwrap_or(0);
        expect_shape(&[points, width], features)?;
        expect_shape(&[boxes, x, y, z, list.max(1)], voxels)?;
        Ok(Self { boxes, grid: [x, y, z], list, points, features: width })
    }

    /// Returns the number of points of each voxel, then their indices.
    fn lists(&self, boxes: &[f64], x: &[f64]) -> Vec<i64> {
        let per_box: usize = self.grid.iter().product();
        let mut lists = vec![0; self.boxes * per_box * self.list];
        if per_box == 0 {
            return lists;
        }
        for (n, cuboid) in boxes.as_chunks().0.iter().map(Cuboid::<f64>::new).enumerate() {
            for (point, place) in x.as_chunks().0.iter().enumerate() {
                let Some(local) = cuboid.inside(place) else { continue };
                let voxel = (0..3).fold(n, |voxel, axis| {
                    let part = (local[axis] + cuboid.half[axis]) / (2.0 * cuboid.half[axis]);
                    // A point on the upper border is in the last voxel.
                    let index = (part * self.grid[axis] as f64) as usize;
                    voxel * self.grid[axis] + index.min(self.grid[axis] - 1)
                });
                let list = &mut lists[voxel * self.list..][..self.list];
                let count = list[0] as usize;
                if count + 1 < self.list {
                    list[count + 1] = point as i64;
                    list[0] += 1;
                }
            }
        }
        lists
    }

    /// Returns the points of a voxel.
    fn points_of(&self, lists: &[i64], voxel: usize) -> Result<Vec<usize>> {
        let list = &lists[voxel * self.list..][..self.list];
        let count = usize::try_from(list[0]).ok().filter(|&count| count < self.list);
        let count = count.ok_or(Error::Index { index: list[0], len: self.list })?;
        list[1..=count].iter().map(|&point| self.point(point)).collect()
    }

    fn point(&self, index: i64) -> Result<usize> {
        let point = usize::try_from(index).ok().filter(|&point| point < self.points);
        point.ok_or(Error::Index { index, len: self.points })
    }
}
