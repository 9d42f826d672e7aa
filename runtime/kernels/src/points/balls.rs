//! Points inside balls.

use super::{cloud, count, squared_distance};
use crate::attributes::BallQueryAttributes;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_length, expect_shape};
use crate::loops::slices::{elements, integers, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`ball_query`].
///
/// # Errors
/// [`Error::Attribute`] for a negative number of points.
pub fn ball_query_shape(
    centers: TensorMeta<'_>,
    _x: TensorMeta<'_>,
    _centers_num: Option<TensorMeta<'_>>,
    _points_num: Option<TensorMeta<'_>>,
    with: &BallQueryAttributes,
) -> Result<Vec<usize>> {
    let BallQueryAttributes { count: per_ball, .. } = *with;
    let dims = centers.dims();
    Ok([&dims[..dims.len().saturating_sub(1)], &[count("count", per_ball)?]].concat())
}

/// Finds the first points in a ball around each centre: those whose distance is at least `min_radius` and less than
/// `max_radius`, or zero.
///
/// Unused slots are filled with the first point of the ball. A ball without points has the index `absent`,
/// then zeros. Clouds of different sizes are concatenated, and the number of centres and points of each cloud
/// is given.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Missing`], [`Error::Length`] if the numbers of points of the
/// clouds do not sum to the points
/// given, [`Error::Attribute`] for a negative number, and [`Error::Type`] unless the points are floating-point.
pub fn ball_query(
    out: &mut ViewMut<'_>,
    centers: &View<'_>,
    x: &View<'_>,
    centers_num: Option<&View<'_>>,
    points_num: Option<&View<'_>>,
    with: &BallQueryAttributes,
) -> Result<()> {
    let BallQueryAttributes { min_radius, max_radius, count: per_ball, absent } = *with;
    let shape = ball_query_shape(
        centers.meta(),
        x.meta(),
        None,
        None,
        &BallQueryAttributes { min_radius, max_radius, count: per_ball, absent },
    )?;
    expect_shape(&shape, out.dims())?;
    let per_ball = count("count", per_ball)?;
    let clouds = clouds(centers, x, centers_num, points_num)?;
    let found = with_float!(centers.dtype(), T => {
        let (centers, x) = (elements::<T>(centers)?, elements::<T>(x)?);
        let (mut centers, mut x) = (centers.as_chunks::<3>().0, x.as_chunks::<3>().0);
        let mut found = Vec::with_capacity(shape.iter().product());
        for (of_centers, of_points) in clouds {
            let (cloud, points);
            (cloud, centers) = centers.split_at(of_centers);
            (points, x) = x.split_at(of_points);
            for center in cloud {
                let start = found.len();
                found.extend(inside(center, points, min_radius, max_radius).take(per_ball));
                if per_ball > 0 && found.len() == start {
                    found.push(absent);
                    found.resize(start + per_ball, 0);
                } else if per_ball > 0 {
                    found.resize(start + per_ball, found[start]);
                }
            }
        }
        Ok(found)
    })?;
    store_integers(out, &found)
}

/// Returns the number of centres and points of each cloud.
fn clouds(
    centers: &View<'_>,
    x: &View<'_>,
    centers_num: Option<&View<'_>>,
    points_num: Option<&View<'_>>,
) -> Result<Vec<(usize, usize)>> {
    let (Some(centers_num), Some(points_num)) = (centers_num, points_num) else {
        if centers_num.is_some() || points_num.is_some() {
            return Err(Error::Missing { missing: "points_num", because: "centers_num" });
        }
        let ([batch, balls, _], [_, points, _]) = (cloud(centers.meta())?, cloud(x.meta())?);
        expect_shape(&[batch, balls, 3], centers.dims())?;
        expect_shape(&[batch, points, 3], x.dims())?;
        return Ok(vec![(balls, points); batch]);
    };
    let mut sizes = [vec![], vec![]];
    for ((sizes, numbers), all) in sizes.iter_mut().zip([centers_num, points_num]).zip([centers, x]) {
        let rows = all.dims().first().copied().unwrap_or(0);
        expect_shape(&[rows, 3], all.dims())?;
        for number in integers(numbers)? {
            sizes.push(count("points_num", number)?);
        }
        let total = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
        expect_length("points", rows, total.ok_or(Error::Overflow)?)?;
    }
    let [centers, points] = sizes;
    expect_length("points_num", centers.len(), points.len())?;
    Ok(centers.into_iter().zip(points).collect())
}

fn inside<T: Float>(center: &[T; 3], points: &[[T; 3]], min: f64, max: f64) -> impl Iterator<Item = i64> {
    let [min, max] = [min, max].map(|radius| T::of(radius) * T::of(radius));
    points.iter().enumerate().filter_map(move |(index, point)| {
        let distance = squared_distance(center, point);
        (distance == T::ZERO || (distance >= min && distance < max)).then_some(index as i64)
    })
}
