//! Sorted rows, and elements at a place in them.

use super::compare;
use crate::accumulate::with_number;
use crate::axis::{Around, axis_or_scalar};
use crate::convert::Compute;
use crate::error::{Error, Result, expect_shape};
use crate::indexing;
use crate::slices::{Slot, store_integers, with_slices};
use crate::tensor::{View, ViewMut};

/// The rows of a tensor along a dimension, and its shape with another length in that dimension.
fn rows(dims: &[usize], axis: i64, len: Option<usize>) -> Result<(Around, Vec<usize>)> {
    let axis = axis_or_scalar(axis, dims.len())?;
    let mut others = dims.to_vec();
    if let (Some(axis), Some(len)) = (axis, len) {
        others[axis] = len;
    }
    Ok((Around::new(dims, axis), others))
}

/// Writes elements and their indices for each row: those that a function leaves of the pairs, in its order.
fn each_row<T: Compute + Slot>(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    around: Around,
    count: usize,
    choose: impl Fn(&mut Vec<(T, i64)>),
) -> Result<()> {
    let mut places = vec![0; out.len()];
    let target = Around { len: count, ..around };
    with_slices([out.reborrow()], [x], |[out], [x]| {
        let mut pairs: Vec<(T, i64)> = Vec::with_capacity(around.len);
        for (first, to) in around.rows().zip(target.rows()) {
            pairs.clear();
            pairs.extend(around.row(first).map(|at| x[at]).zip(0..));
            choose(&mut pairs);
            for (at, &(value, index)) in target.row(to).zip(&pairs) {
                (out[at], places[at]) = (value, index);
            }
        }
        Ok(())
    })?;
    store_integers(indices, &places)
}

/// The order of pairs of elements and indices, all of which differ.
fn by_value<T: Compute>(descending: bool) -> impl Fn(&(T, i64), &(T, i64)) -> std::cmp::Ordering {
    move |a, b| {
        let order = compare(a.0, b.0);
        (if descending { order.reverse() } else { order }).then(a.1.cmp(&b.1))
    }
}

/// Sorts along a dimension: the elements, and the indices that they had.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if a type is complex.
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
        each_row::<T>(out, indices, x, around, around.len, |pairs| pairs.sort_unstable_by(by_value(descending)))
    })
}

/// Gradient of [`argsort`] by `x`: each element of `dout` goes back to its index.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn argsort_grad(dx: &mut ViewMut<'_>, indices: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    indexing::take_along_axis_grad(dx, indices, dout, axis)
}

/// Checks how many elements of a row are wanted.
fn expect_count(k: i64, len: usize) -> Result<usize> {
    usize::try_from(k).ok().filter(|&k| k <= len).ok_or(Error::Index { index: k, len })
}

/// The shape of what [`topk`] finds.
///
/// # Errors
/// As [`topk`].
pub fn topk_shape(x: &View<'_>, k: i64, axis: i64, _largest: bool) -> Result<Vec<usize>> {
    let len = rows(x.dims(), axis, None)?.0.len;
    Ok(rows(x.dims(), axis, Some(expect_count(k, len)?))?.1)
}

/// The `k` largest, or smallest, elements along a dimension in their order, and their indices.
///
/// # Errors
/// As [`argsort`], and [`Error::Index`] unless the dimension has `k` elements.
pub fn topk(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    k: i64,
    axis: i64,
    largest: bool,
) -> Result<()> {
    let around = rows(x.dims(), axis, None)?.0;
    let k = expect_count(k, around.len)?;
    let dims = rows(x.dims(), axis, Some(k))?.1;
    expect_shape(&dims, out.dims())?;
    expect_shape(&dims, indices.dims())?;
    with_number!(x.dtype(), T => {
        each_row::<T>(out, indices, x, around, k, |pairs| {
            if k > 0 && k < pairs.len() {
                pairs.select_nth_unstable_by(k - 1, by_value(largest));
                pairs.truncate(k);
            }
            pairs.sort_unstable_by(by_value(largest));
        })
    })
}

/// Gradient of [`topk`] by `x`: each element of `dout` goes back to its index, the others are zero.
///
/// # Errors
/// As [`indexing::take_along_axis_grad`].
pub fn topk_grad(dx: &mut ViewMut<'_>, indices: &View<'_>, dout: &View<'_>, axis: i64) -> Result<()> {
    indexing::take_along_axis_grad(dx, indices, dout, axis)
}

/// Checks outputs that have one element for each row, and gives them the dimension again that they may lack.
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

/// As [`single`], for gradients of such outputs.
fn single_input<'v>(view: &View<'v>, dims: &[usize], axis: i64, keep_dim: bool) -> Result<View<'v>> {
    match axis_or_scalar(axis, dims.len())? {
        Some(axis) if !keep_dim => view.clone().insert(axis),
        _ => Ok(view.clone()),
    }
}

/// The `k`-th smallest element along a dimension, counted from 1, and its index: of equal ones the indices are in order,
/// where Paddle has any.
///
/// # Errors
/// As [`argsort`], and [`Error::Index`] unless the dimension has `k` elements.
pub fn kthvalue(
    out: &mut ViewMut<'_>,
    indices: &mut ViewMut<'_>,
    x: &View<'_>,
    k: i64,
    axis: i64,
    keep_dim: bool,
) -> Result<()> {
    let around = rows(x.dims(), axis, None)?.0;
    let place = crate::axis::index(k.saturating_sub(1), around.len)
        .ok()
        .filter(|_| k > 0)
        .ok_or(Error::Index { index: k, len: around.len })?;
    let mut out = single(out, x.dims(), axis, keep_dim)?;
    let mut indices = single(indices, x.dims(), axis, keep_dim)?;
    with_number!(x.dtype(), T => {
        each_row::<T>(&mut out, &mut indices, x, around, 1, |pairs| {
            pairs.select_nth_unstable_by(place, by_value(false));
            pairs.swap(0, place);
        })
    })
}

/// Gradient of [`kthvalue`] by `x`.
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

/// The most frequent element along a dimension, of several the smallest, and the index of the last such element.
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
        each_row::<T>(&mut out, &mut indices, x, around, 1, |pairs| {
            pairs.sort_unstable_by(by_value(false));
            let equal = pairs.chunk_by(|a, b| compare(a.0, b.0).is_eq());
            let best = equal.fold(&pairs[..0], |best, next| if next.len() > best.len() { next } else { best });
            let last = best.last().copied();
            pairs.clear();
            pairs.extend(last);
        })
    })
}

/// Gradient of [`mode`] by `x`.
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
