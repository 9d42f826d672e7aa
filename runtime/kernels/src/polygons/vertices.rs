//! The order of the vertices of intersections (Zhou et al., "IoU Loss for 2D/3D Object Detection", 2019).

use super::Point;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{floats, integers, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// The corners of both boxes come first.
const CORNERS: usize = 8;
/// The corners of both boxes, and an intersection for each pair of edges.
const VERTICES: usize = 24;
/// The corners of an intersection, and the first one again.
const PLACES: usize = 9;
/// Vertices that are nearer to each other are one.
const NEAR: f64 = 1e-8;

/// Computes the shape of the output of [`sort_vertices`].
///
/// # Errors
/// [`Error::Rank`].
pub fn sort_vertices_shape(vertices: TensorMeta<'_>, _mask: TensorMeta<'_>) -> Result<Vec<usize>> {
    let &[batch, pairs, _, _] = vertices.dims() else {
        return Err(Error::Rank { dims: vertices.dims().len(), strides: 4 });
    };
    Ok(vec![batch, pairs, PLACES])
}

/// Sorts the valid ones of 24 vertices, 8 corners and 16 intersections of edges, by their angle about zero.
///
/// Vertices in one place count once. The first one follows the last one. The other places, and all places for
/// fewer than three vertices, have the index of the first intersection that is not valid.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Length`] for more than 8 different vertices, and [`Error::Type`].
pub fn sort_vertices(out: &mut ViewMut<'_>, vertices: &View<'_>, mask: &View<'_>) -> Result<()> {
    let shape = sort_vertices_shape(vertices.meta(), mask.meta())?;
    expect_shape(&shape, out.dims())?;
    expect_shape(&[shape[0], shape[1], VERTICES, 2], vertices.dims())?;
    expect_shape(&[shape[0], shape[1], VERTICES], mask.dims())?;
    let (numbers, mask) = (floats(vertices)?, integers(mask)?);
    let points = numbers.as_chunks::<2>().0;
    let mut places = Vec::with_capacity(out.len());
    for (points, mask) in points.chunks(VERTICES).zip(mask.chunks(VERTICES)) {
        places.extend(sorted(points, mask)?);
    }
    store_integers(out, &places)
}

fn sorted(points: &[Point], mask: &[i64]) -> Result<[i64; PLACES]> {
    let is_valid = |&index: &usize| mask[index] != 0;
    let unused = (CORNERS..VERTICES).find(|index| !is_valid(index));
    let mut valid: Vec<usize> = (0..VERTICES).filter(is_valid).collect();
    let is_enough = valid.len() >= 3;
    let angle = |index: usize| {
        let angle = points[index][1].atan2(points[index][0]);
        if angle < 0.0 { angle + std::f64::consts::TAU } else { angle }
    };
    valid.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
    let is_near = |a: usize, b: usize| (0..2).all(|axis| (points[a][axis] - points[b][axis]).abs() < NEAR);
    valid.dedup_by(|a, b| is_near(*a, *b));
    let Some(unused) = unused.filter(|_| valid.len() < PLACES) else {
        return Err(Error::Length { what: "mask", expected: PLACES - 1, actual: valid.len() });
    };
    let mut places = [unused as i64; PLACES];
    if is_enough {
        let ring = valid.iter().chain(valid.first());
        places.iter_mut().zip(ring).for_each(|(place, &index)| *place = index as i64);
    }
    Ok(places)
}
