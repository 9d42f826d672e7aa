//! Nearest neighbours of query points.

use super::{cloud, count, squared_distance};
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{Slot, elements, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the outputs of [`nearest_points`].
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank) and [`Error::Attribute`](crate::Error::Attribute) for a negative
/// number of points.
pub fn nearest_points_shape(queries: TensorMeta<'_>, _x: TensorMeta<'_>, k: i64) -> Result<Vec<usize>> {
    let [batch, queries, _] = cloud(queries)?;
    Ok(vec![batch, queries, count("k", k)?])
}

/// Finds the `k` nearest points of each query, sorted by squared distance. Points with equal distances keep
/// their order.
///
/// If there are fewer points, the remaining distances are infinite and the indices 0.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape),
/// [`Error::Attribute`](crate::Error::Attribute) for a negative number of points, and
/// [`Error::Type`](crate::Error::Type) unless the points are floating-point.
pub fn nearest_points(
    distances: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    queries: &View<'_>,
    x: &View<'_>,
    k: i64,
) -> Result<()> {
    let shape = nearest_points_shape(queries.meta(), x.meta(), k)?;
    expect_shape(&shape, distances.dims())?;
    expect_shape(&shape, indices.dims())?;
    let ([batch, _, coordinates], [_, points, _]) = (cloud(queries.meta())?, cloud(x.meta())?);
    expect_shape(&[batch, points, coordinates], x.dims())?;
    with_float!(queries.dtype(), T => {
        let (mut nearest, mut places) = (vec![], vec![]);
        {
            let (queries_per_cloud, k) = (shape[1], shape[2]);
            let (queries, x) = (elements::<T>(queries)?, elements::<T>(x)?);
            for query in 0..batch * queries_per_cloud {
                let place = &queries[query * coordinates..][..coordinates];
                let cloud = &x[query / queries_per_cloud * points * coordinates..][..points * coordinates];
                let squares = (0..points).map(|n| squared_distance(place, &cloud[n * coordinates..][..coordinates]));
                for (distance, index) in smallest(squares, k) {
                    nearest.push(distance);
                    places.push(index);
                }
            }
        }
        T::store(distances, &nearest)?;
        store_integers(indices, &places)
    })
}

/// Returns the smallest numbers with their indices, padded with infinity and 0.
fn smallest<T: Float>(numbers: impl Iterator<Item = T>, k: usize) -> Vec<(T, i64)> {
    let mut found = vec![(T::of(f64::INFINITY), 0); k];
    for (index, number) in numbers.enumerate() {
        let place = found.partition_point(|&(other, _)| other <= number);
        // NaN is not less than any number, so it comes last.
        if place < k && number < found[place].0 {
            found.pop();
            found.insert(place, (number, index as i64));
        }
    }
    found
}
