//! Repetition and broadcasting of tensors.

use super::expect_type;
use super::indexed::{Map, add_back, take};
use crate::error::{Error, Result};
use crate::loops::movement;
use crate::loops::slices::integers;
use crate::reduction;
use crate::tensor::axis;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Broadcasts a tensor to the shape of the output: repeats dimensions of length one and adds missing leading
/// dimensions.
///
/// # Errors
/// [`Error::Broadcast`], [`Error::Type`] if types differ.
pub fn expand(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    expect_type(out, x)?;
    movement::copy(out, x)
}

/// Computes the gradient of [`expand`] with respect to `x`: the sum over the repetitions.
///
/// # Errors
/// As [`expand`].
pub fn expand_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    reduction::sum_to(dx, dout)
}

/// Broadcasts each tensor as [`expand`] does.
///
/// # Errors
/// As [`expand`], and [`Error::Length`] unless there is one output for each input.
pub fn broadcast_tensors(outs: &mut [Option<ViewMut<'_>>], xs: &[View<'_>]) -> Result<()> {
    crate::expect_length("outs", xs.len(), outs.len())?;
    outs.iter_mut()
        .zip(xs)
        .filter_map(|(out, x)| Some((out.as_mut()?, x)))
        .try_for_each(|(out, x)| expand(out, x))
}

/// Computes the gradients of [`broadcast_tensors`]: the sums over the repetitions.
///
/// # Errors
/// As [`broadcast_tensors`].
pub fn broadcast_tensors_grad(dxs: &mut [Option<ViewMut<'_>>], douts: &[View<'_>]) -> Result<()> {
    crate::expect_length("dxs", douts.len(), dxs.len())?;
    let wanted = dxs.iter_mut().zip(douts).filter_map(|(dx, dout)| Some((dx.as_mut()?, dout)));
    wanted.into_iter().try_for_each(|(dx, dout)| expand_grad(dx, dout))
}

/// Computes the maps of a repeated tensor, and its shape extended to the rank of the result.
fn tiles(x: &[usize], out: &[usize], repeats: &[i64]) -> Result<(Vec<usize>, Vec<Map>)> {
    let rank = x.len().max(repeats.len());
    let mut dims = vec![1; rank - x.len()];
    dims.extend_from_slice(x);
    let mut expected = Vec::with_capacity(rank);
    let mut maps = Vec::with_capacity(rank);
    for (n, &dim) in dims.iter().enumerate() {
        let times = (n + repeats.len()).checked_sub(rank).map_or(1, |place| repeats[place]);
        let times = usize::try_from(times)
            .map_err(|_| Error::Attribute { name: "repeat_times", value: times.to_string() })?;
        let len = dim.checked_mul(times).ok_or(Error::Overflow)?;
        expected.push(len);
        if out.get(n) == Some(&len) {
            maps.push((0..len).map(|index| Some(index % dim)).collect());
        }
    }
    if expected != out {
        return Err(Error::Shape { expected, actual: out.to_vec() });
    }
    Ok((dims, maps))
}

/// Repeats the whole tensor the given number of times along each dimension.
///
/// If `repeats` is shorter than the shape, it applies to the last dimensions. If it is longer, the tensor
/// gets new leading dimensions.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if types differ, [`Error::Attribute`] for a negative number.
pub fn tile(out: &mut ViewMut<'_>, x: &View<'_>, repeats: &[i64]) -> Result<()> {
    expect_type(out, x)?;
    let (dims, maps) = tiles(x.dims(), out.dims(), repeats)?;
    take(out, &x.clone().expand(&dims)?, &maps, x)
}

/// Computes the gradient of [`tile`] with respect to `x`: the sum over the repetitions.
///
/// # Errors
/// As [`tile`], and [`Error::Type`] if a type is complex.
pub fn tile_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, repeats: &[i64]) -> Result<()> {
    let (dims, maps) = tiles(dx.dims(), dout.dims(), repeats)?;
    let mut dx = dx.reborrow();
    for _ in dx.dims().len()..dims.len() {
        dx = dx.insert(0)?;
    }
    add_back(&mut dx, dout, &maps)
}

/// Computes the maps of a tensor whose elements are repeated one by one along a dimension.
fn interleaved(x: &[usize], out: &[usize], repeats: &View<'_>, axis: i64) -> Result<Vec<Map>> {
    let axis = axis::axis(axis, x.len())?;
    let counts = integers(repeats)?;
    if counts.len() != 1 {
        crate::expect_length("repeats", x[axis], counts.len())?;
    }
    let mut map = Map::new();
    for index in 0..x[axis] {
        let count = counts[index % counts.len()];
        let count = usize::try_from(count)
            .map_err(|_| Error::Attribute { name: "repeats", value: count.to_string() })?;
        if count > out.get(axis).map_or(0, |len| len.saturating_sub(map.len())) {
            return Err(Error::Shape { expected: x.to_vec(), actual: out.to_vec() });
        }
        map.extend(std::iter::repeat_n(Some(index), count));
    }
    let mut expected = x.to_vec();
    expected[axis] = map.len();
    if expected != out {
        return Err(Error::Shape { expected, actual: out.to_vec() });
    }
    Ok(x.iter()
        .enumerate()
        .map(|(n, &dim)| if n == axis { map.clone() } else { (0..dim).map(Some).collect() })
        .collect())
}

/// Computes the shape of the result of [`repeat_interleave`].
///
/// # Errors
/// As [`repeat_interleave`].
pub fn repeat_interleave_shape(x: TensorMeta<'_>, repeats: &View<'_>, axis: i64) -> Result<Vec<usize>> {
    let mut dims = x.dims().to_vec();
    let axis = axis::axis(axis, dims.len())?;
    let counts = integers(repeats)?;
    let total =
        counts.iter().try_fold(0i64, |total, &count| total.checked_add(count)).ok_or(Error::Overflow)?;
    let refused = |_| Error::Attribute { name: "repeats", value: total.to_string() };
    let total = usize::try_from(total).map_err(refused)?;
    dims[axis] = match counts.len() {
        1 => dims[axis].checked_mul(total).ok_or(Error::Overflow)?,
        _ => total,
    };
    Ok(dims)
}

/// Repeats each element along a dimension. `repeats` holds one number for all elements, or one for each.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`], [`Error::Type`], [`Error::Attribute`] for a negative number.
pub fn repeat_interleave(out: &mut ViewMut<'_>, x: &View<'_>, repeats: &View<'_>, axis: i64) -> Result<()> {
    expect_type(out, x)?;
    let maps = interleaved(x.dims(), out.dims(), repeats, axis)?;
    take(out, x, &maps, x)
}

/// Computes the gradient of [`repeat_interleave`] with respect to `x`: the sum over the repetitions.
///
/// # Errors
/// As [`repeat_interleave`].
pub fn repeat_interleave_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    repeats: &View<'_>,
    axis: i64,
) -> Result<()> {
    let maps = interleaved(dx.dims(), dout.dims(), repeats, axis)?;
    add_back(dx, dout, &maps)
}

/// Repeats all elements the same number of times, as [`repeat_interleave`] does.
///
/// # Errors
/// As [`repeat_interleave`].
pub fn repeat_interleave_evenly(out: &mut ViewMut<'_>, x: &View<'_>, repeats: i64, axis: i64) -> Result<()> {
    repeat_interleave(out, x, &View::of_slice(&[repeats], &[1])?, axis)
}

/// Computes the gradient of [`repeat_interleave_evenly`] with respect to `x`: the sum over the repetitions.
///
/// # Errors
/// As [`repeat_interleave`].
pub fn repeat_interleave_evenly_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    repeats: i64,
    axis: i64,
) -> Result<()> {
    repeat_interleave_grad(dx, dout, &View::of_slice(&[repeats], &[1])?, axis)
}
