//! Farthest point sampling.

use super::{cloud, count, squared_distance};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the indices of [`farthest_points`].
///
/// # Errors
/// [`Error::Rank`] and [`Error::Attribute`] for a negative number of samples.
pub fn farthest_points_shape(x: TensorMeta<'_>, samples: i64, _pairwise: bool) -> Result<Vec<usize>> {
    Ok(vec![cloud(x)?[0], count("count", samples)?])
}

/// Selects points by distance: the first point, then repeatedly the point with the largest squared distance
/// to the samples so far. Of equal points, the first is selected.
///
/// `distances` becomes the squared distance of each point to the nearest of all samples except the last. With
/// `pairwise`, `x` holds the squared distances of all pairs instead of the points.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for a negative number of samples, [`Error::Empty`]
/// for samples from
/// no points, and [`Error::Type`] unless the points are floating-point.
pub fn farthest_points(
    indices: &mut ViewMut<'_>,
    distances: &mut ViewMut<'_>,
    x: &View<'_>,
    samples: i64,
    pairwise: bool,
) -> Result<()> {
    let shape = farthest_points_shape(x.meta(), samples, pairwise)?;
    let [batch, points, width] = cloud(x.meta())?;
    expect_shape(&shape, indices.dims())?;
    expect_shape(&[batch, points], distances.dims())?;
    if pairwise {
        expect_shape(&[batch, points, points], x.dims())?;
    }
    if points == 0 && shape.iter().all(|&len| len > 0) {
        return Err(Error::Empty);
    }
    with_float!(x.dtype(), T => {
        let mut left = vec![T::INFINITY; batch * points];
        let mut chosen = Vec::with_capacity(batch * shape[1]);
        {
            let x = elements::<T>(x)?;
            for (cloud, left) in x.chunks(points.max(1) * width.max(1)).zip(left.chunks_mut(points.max(1))) {
                let distance = |a: usize, b: usize| if pairwise { cloud[a * width + b] } else { squared_distance(&cloud[a * width..][..width], &cloud[b * width..][..width]) };
                sample(left, &mut chosen, shape[1], distance);
            }
        }
        chosen.resize(batch * shape[1], 0);
        T::store(distances, &left)?;
        store_integers(indices, &chosen)
    })
}

fn sample<T: Float>(
    left: &mut [T],
    chosen: &mut Vec<i64>,
    count: usize,
    distance: impl Fn(usize, usize) -> T,
) {
    let mut last = 0;
    for number in 0..count {
        if number > 0 {
            let (mut best, mut farthest) = (-T::ONE, 0);
            for (point, left) in left.iter_mut().enumerate() {
                *left = left.min(distance(last, point));
                if *left > best {
                    (best, farthest) = (*left, point);
                }
            }
            last = farthest;
        }
        chosen.push(last as i64);
    }
}
