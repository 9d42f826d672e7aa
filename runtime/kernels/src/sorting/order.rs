//! Sorted rows, and elements at a rank.

use super::ranks::{self, Ranked, ranks};
use crate::attributes::{KthvalueAttributes, TopkAttributes};
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::indexing;
use crate::loops::slices::{store_integers, with_slices};
use crate::tensor::axis::{Around, axis_or_scalar};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Returns the rows of a tensor along a dimension, and its shape with a different length in that dimension.
fn rows(dims: &[usize], axis: i64, len: Option<usize>) -> Result<(Around, Vec<usize>)> {
    let axis = axis_or_scalar(axis, dims.len())?;
    let mut others = dims.to_vec();
    if let (Some(axis), Some(len)) = (axis, len) {
        others[axis] = len;
    }
    Ok((Around::new(dims, axis), others))
}

/// Writes elements and their indices for each row: those whose ranks a function keeps, in the order it
/// returns them.
///
/// The function receives the ranks of a row and scratch memory.
fn each_row<T: Ranked>(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    around: Around,
    count: usize,
    descending: bool,
    choose: impl Fn(&mut Vec<T::Rank>, &mut Vec<T::Rank>),
) -> Result<()> {
    let mut places = vec![0; out.len()];
    let target = Around { len: count, ..around };
    with_slices([out.reborrow()], [x], |[out], [x]| {
        let (mut row, mut other) = (Vec::new(), Vec::new());
        for (first, to) in around.rows().zip(target.rows()) {
            ranks::<T>(around.row(first).map(|at| x[at]), descending, &mut row)?;
            choose(&mut row, &mut other);
            for (at, &rank) in target.row(to).zip(&row) {
                let index = T::index(rank);
                (out[at], places[at]) = (x[first + index * around.inner], index as i64);
            }
        }
        Ok(())
    })?;
    store_integers(indices, &places)
}

/// Sorts along a dimension; writes the sorted elements and their original indices.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if a type is complex, [`Error::Overflow`] if a row has
/// more elements than 32 bits can count.
pub fn argsort(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: i64,
    descending: bool,
) -> Result<()> {
    let (around, dims) = rows(x.dims(), axis, None)?;
    expect_shape(&dims, out.dims())?;
    expect_shape(&dims, indices.dims())?;
    with_number!(x.dtype(), T => {
        each_row::<T>(out, indices, x, around, around.len, descending, ranks::sort::<T>)
    })
}

/// Computes the gradient of [`argsort`] with respect to `x`: each element of `dout` goes back to its index.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn argsort_grad(dx: &mut ViewMut<'_>, indices: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    indexing::take_along_axis_grad(dx, indices, dout, axis)
}

/// Checks the requested number of elements of a row.
fn expect_count(k: i64, len: usize) -> Result<usize> {
    usize::try_from(k).ok().filter(|&k| k <= len).ok_or(Error::Index { index: k, len })
}

/// Computes the shape of the outputs of [`topk`].
///
/// # Errors
/// As [`topk`].
pub fn topk_shape(x: TensorMeta<'_>, with: &TopkAttributes) -> Result<Vec<usize>> {
    let TopkAttributes { k, axis, .. } = *with;
    let len = rows(x.dims(), axis, None)?.0.len;
    Ok(rows(x.dims(), axis, Some(expect_count(k, len)?))?.1)
}

/// Finds the `k` largest or smallest elements along a dimension, sorted, and their indices.
///
/// # Errors
/// As [`argsort`], and [`Error::Index`] unless the dimension has at least `k` elements.
pub fn topk(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &TopkAttributes,
) -> Result<()> {
    let TopkAttributes { k, axis, largest } = *with;
    let around = rows(x.dims(), axis, None)?.0;
    let k = expect_count(k, around.len)?;
    let dims = rows(x.dims(), axis, Some(k))?.1;
    expect_shape(&dims, out.dims())?;
    expect_shape(&dims, indices.dims())?;
    with_number!(x.dtype(), T => {
        each_row::<T>(out, indices, x, around, k, largest, |row, _| {
            if k > 0 && k < row.len() {
                row.select_nth_unstable(k - 1);
                row.truncate(k);
            }
            row.sort_unstable();
        })
    })
}

/// Computes the gradient of [`topk`] with respect to `x`: each element of `dout` goes back to its index, the others are
/// zero.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn topk_grad(dx: &mut ViewMut<'_>, indices: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    indexing::take_along_axis_grad(dx, indices, dout, axis)
}

/// Checks outputs that have one element for each row, and inserts the reduced dimension if they lack it.
fn single<'a>(out: &'a mut ViewMut<'_>, dims: &[usize], axis: i64, keep_dim: bool) -> Result<ViewMut<'a>> {
    let dims = rows(dims, axis, Some(1))?.1;
    match axis_or_scalar(axis, dims.len())? {
        Some(axis) if !keep_dim => {
            let mut short = dims.clone();
            short.remove(axis);
            expect_shape(&short, out.dims())?;
            out.reborrow().insert(axis)
        }
        _ => {
            expect_shape(&dims, out.dims())?;
            Ok(out.reborrow())
        }
    }
}

/// Inserts the reduced dimension as [`single`] does, for gradients of such outputs.
fn single_input<'v>(view: &View<'v>, dims: &[usize], axis: i64, keep_dim: bool) -> Result<View<'v>> {
    match axis_or_scalar(axis, dims.len())? {
        Some(axis) if !keep_dim => view.clone().insert(axis),
        _ => Ok(view.clone()),
    }
}

/// Finds the `k`-th smallest element along a dimension, counted from 1, and its index. Equal elements are in
/// the order of their indices; in Paddle their order is unspecified.
///
/// # Errors
/// As [`argsort`], and [`Error::Index`] unless the dimension has at least `k` elements.
pub fn kthvalue(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    with: &KthvalueAttributes,
) -> Result<()> {
    let KthvalueAttributes { k, axis, keep_dim } = *with;
    let around = rows(x.dims(), axis, None)?.0;
    let place = crate::tensor::axis::index(k.saturating_sub(1), around.len)
        .ok()
        .filter(|_| k > 0)
        .ok_or(Error::Index { index: k, len: around.len })?;
    let mut out = single(out, x.dims(), axis, keep_dim)?;
    let mut indices = single(indices, x.dims(), axis, keep_dim)?;
    with_number!(x.dtype(), T => {
        each_row::<T>(&mut out, &mut indices, x, around, 1, false, |row, _| {
            row.select_nth_unstable(place);
            row.swap(0, place);
        })
    })
}

/// Computes the gradient of [`kthvalue`] with respect to `x`.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn kthvalue_grad(
    dx: &mut ViewMut<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    axis: i64,
    keep_dim: bool,
) -> Result<()> {
    let dims = dx.dims().to_vec();
    let indices = single_input(indices, &dims, axis, keep_dim)?;
    let dout = single_input(dout, &dims, axis, keep_dim)?;
    indexing::take_along_axis_grad(dx, &indices, &dout, axis)
}

/// Finds the most frequent element along a dimension, the smallest if there are several, and the index of its
/// last occurrence.
///
/// # Errors
/// As [`argsort`], and [`Error::Empty`] if the dimension has no elements.
pub fn mode(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    axis: i64,
    keep_dim: bool,
) -> Result<()> {
    let around = rows(x.dims(), axis, None)?.0;
    let mut out = single(out, x.dims(), axis, keep_dim)?;
    let mut indices = single(indices, x.dims(), axis, keep_dim)?;
    if around.len == 0 && !out.is_empty() {
        return Err(Error::Empty);
    }
    with_number!(x.dtype(), T => {
        each_row::<T>(&mut out, &mut indices, x, around, 1, false, |row, other| {
            ranks::sort::<T>(row, other);
            let equal = row.chunk_by(|&a, &b| T::is_equal(a, b));
            let best = equal.fold(&row[..0], |best, next| if next.len() > best.len() { next } else { best });
            let last = best.last().copied();
            row.clear();
            row.extend(last);
        })
    })
}

/// Computes the gradient of [`mode`] with respect to `x`.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn mode_grad(
    dx: &mut ViewMut<'_>,
    indices: &View<'_>,
    dout: &View<'_>,
    axis: i64,
    keep_dim: bool,
) -> Result<()> {
    kthvalue_grad(dx, indices, dout, axis, keep_dim)
}
