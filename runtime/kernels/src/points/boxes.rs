//! Points in rotated boxes.

use super::cloud;
use crate::elements::accumulate::with_float;
use crate::elements::float::Float;
use crate::error::{Result, expect_shape};
use crate::loops::slices::{elements, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`points_in_boxes`].
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank).
pub fn points_in_boxes_shape(boxes: TensorMeta<'_>, x: TensorMeta<'_>, first: bool) -> Result<Vec<usize>> {
    let ([_, boxes, _], [batch, points, _]) = (cloud(boxes)?, cloud(x)?);
    Ok(if first { vec![batch, points] } else { vec![batch, points, boxes] })
}

/// Computes which points are in which boxes, or with `first` the index of the first box that contains each
/// point, -1 if there is none.
///
/// A box is `x, y, z, x_size, y_size, z_size, angle`: the centre of its bottom, its sizes, and its rotation
/// about the vertical axis. Points on the sides are outside; points on the top or the bottom are inside.
///
/// # Errors
/// [`Error::Rank`](crate::Error::Rank), [`Error::Shape`](crate::Error::Shape), and
/// [`Error::Type`](crate::Error::Type) unless the points are floating-point.
pub fn points_in_boxes(out: &mut ViewMut<'_>, boxes: &View<'_>, x: &View<'_>, first: bool) -> Result<()> {
    expect_shape(&points_in_boxes_shape(boxes.meta(), x.meta(), first)?, out.dims())?;
    let ([batch, count, _], [_, points, _]) = (cloud(boxes.meta())?, cloud(x.meta())?);
    expect_shape(&[batch, count, 7], boxes.dims())?;
    expect_shape(&[batch, points, 3], x.dims())?;
    let found = with_float!(x.dtype(), T => {
        let (boxes, x) = (elements::<T>(boxes)?, elements::<T>(x)?);
        let boxes: Vec<Cuboid<T>> = boxes.as_chunks().0.iter().map(Cuboid::new).collect();
        let mut found = Vec::with_capacity(out.len());
        for (n, point) in x.as_chunks().0.iter().enumerate() {
            let mut boxes = boxes[n / points * count..][..count].iter();
            if first { found.push(boxes.position(|it| it.contains(point)).map_or(-1, |index| index as i64)) } else { found.extend(boxes.map(|it| i64::from(it.contains(point)))) }
        }
        Ok(found)
    })?;
    store_integers(out, &found)
}

/// A rotated box.
pub(super) struct Cuboid<T> {
    center: [T; 3],
    /// Half of its sizes.
    pub(super) half: [T; 3],
    cos: T,
    sin: T,
}

impl<T: Float> Cuboid<T> {
    pub(super) fn new([x, y, bottom, width, length, height, angle]: &[T; 7]) -> Self {
        let half = [*width, *length, *height].map(|size| size * T::of(0.5));
        Self { center: [*x, *y, *bottom + half[2]], half, cos: angle.cos(), sin: angle.sin() }
    }

    fn contains(&self, point: &[T; 3]) -> bool {
        self.inside(point).is_some()
    }

    /// Returns the coordinates of a point in the frame of the box, relative to its centre, if it is inside.
    pub(super) fn inside(&self, point: &[T; 3]) -> Option<[T; 3]> {
        let [x, y, z]: [T; 3] = std::array::from_fn(|n| point[n] - self.center[n]);
        let (along, across) = (x * self.cos + y * self.sin, y * self.cos - x * self.sin);
        let is_inside = z.abs() <= self.half[2] && along.abs() < self.half[0] && across.abs() < self.half[1];
        is_inside.then_some([along, across, z])
    }
}
