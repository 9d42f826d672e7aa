//! The points of boxes (Shi et al., "PointRCNN", 2019).

use super::boxes::Cuboid;
use super::cloud;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, elements, floats, store_integers};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Collects the coordinates and the features of the first points in each box, `[batch, boxes, samples, 3 +
/// features]`, and whether a box is empty, `[batch, boxes]`.
///
/// Boxes are those of [`points_in_boxes`](super::points_in_boxes). If a box has too few points, they are repeated. The
/// samples of an empty box are 0.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], and [`Error::Type`].
pub fn roi_point_pool(
    out: &mut ViewMut<'_>,
    empty: &mut ViewMut<'_>,
    x: &View<'_>,
    boxes: &View<'_>,
    features: &View<'_>,
) -> Result<()> {
    let ([batch, points, _], [_, count, _]) = (cloud(x.meta())?, cloud(boxes.meta())?);
    let [_, _, width] = cloud(features.meta())?;
    let &[.., samples, _] = out.dims() else {
        return Err(Error::Rank { dims: out.dims().len(), strides: 4 });
    };
    expect_shape(&[batch, count, samples, 3 + width], out.dims())?;
    expect_shape(&[batch, count], empty.dims())?;
    expect_shape(&[batch, points, 3], x.dims())?;
    expect_shape(&[batch, count, 7], boxes.dims())?;
    expect_shape(&[batch, points, width], features.dims())?;
    let mut flags = Vec::with_capacity(batch * count);
    with_float!(features.dtype(), T => {
        let mut rows = Vec::with_capacity(out.len());
        {
            let (x, features) = (floats(x)?, elements::<T>(features)?);
            let (x, boxes) = (x.as_chunks::<3>().0, floats(boxes)?);
            for (n, cuboid) in boxes.as_chunks().0.iter().map(Cuboid::<f64>::new).enumerate() {
                let own = n / count * points..(n / count + 1) * points;
                let found: Vec<usize> = own.filter(|&point| cuboid.inside(&x[point]).is_some()).take(samples).collect();
                flags.push(i64::from(found.is_empty()));
                for &point in found.iter().cycle().take(samples) {
                    rows.extend(x[point].map(T::of));
                    rows.extend_from_slice(&features[point * width..][..width]);
                }
                rows.resize((n + 1) * samples * (3 + width), T::ZERO);
            }
        }
        T::store(out, &rows)
    })?;
    store_integers(empty, &flags)
}
