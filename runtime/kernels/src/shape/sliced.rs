//! Slices of tensors, and permutations of dimensions.

use super::expect_type;
use super::indexed::{Map, take};
use crate::attributes::{SetValueGradAttributes, SliceAttributes, StridedSliceAttributes};
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::reduction;
use crate::tensor::axis;
use crate::tensor::buffer::Buffer;
use crate::tensor::{TensorMeta, View, ViewMut};

/// A range of indices along a dimension: the first index, the step, and the number of indices.
#[derive(Clone, Copy)]
struct Range {
    axis: usize,
    start: usize,
    step: isize,
    len: usize,
}

/// Resolves the indices from `start` (inclusive) to `end` (exclusive) as Python does: negative ones count
/// from the end, and those out of range are dropped.
fn range(axis: usize, dim: usize, start: i64, end: i64, step: i64) -> Result<Range> {
    let refused = || Error::Attribute { name: "strides", value: step.to_string() };
    let dim = dim as i64;
    let (low, high) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let [start, end] = [start, end].map(|index| {
        if index < 0 { index.saturating_add(dim).max(low) } else { index.min(high) }.clamp(low, high)
    });
    let way = if step > 0 { end - start } else { start - end };
    let step_len = usize::try_from(step.unsigned_abs()).map_err(|_| refused())?;
    if step == 0 {
        return Err(refused());
    }
    let len = usize::try_from(way).unwrap_or(0).div_ceil(step_len);
    let step = if len > 1 { isize::try_from(step).map_err(|_| refused())? } else { 1 };
    Ok(Range { axis, start: if len == 0 { 0 } else { start as usize }, step, len })
}

fn ranges(dims: &[usize], axes: &[i64], starts: &[i64], ends: &[i64], steps: &[i64]) -> Result<Vec<Range>> {
    for (what, len) in [("starts", starts.len()), ("ends", ends.len()), ("strides", steps.len())] {
        crate::expect_length(what, axes.len(), len)?;
    }
    let axes = axis::axes(axes, dims.len())?;
    axes.iter().enumerate().map(|(n, &axis)| range(axis, dims[axis], starts[n], ends[n], steps[n])).collect()
}

/// The dimensions that a part lacks, and its additional dimensions of length one.
#[derive(Clone, Copy)]
struct Rank<'a> {
    decrease: &'a [i64],
    none: &'a [i64],
}

const SAME_RANK: Rank<'_> = Rank { decrease: &[], none: &[] };

macro_rules! part_of {
    ($name:ident $view:ident) => {
        /// Narrows a tensor to ranges.
        fn $name<'v>(view: $view<'v>, ranges: &[Range], rank: Rank<'_>) -> Result<$view<'v>> {
            let mut view = view;
            for range in ranges {
                view = view.step(range.axis, range.start, range.step, range.len)?;
            }
            let mut gone = axis::axes(rank.decrease, view.dims().len())?;
            gone.sort_unstable();
            for axis in gone.into_iter().rev() {
                match view.dims()[axis] {
                    1 => view = view.select(axis, 0)?,
                    len => return Err(Error::Index { index: 0, len }),
                }
            }
            for &axis in rank.none {
                let axis = axis::axis(axis, view.dims().len() + 1)?;
                view = view.insert(axis)?;
            }
            Ok(view)
        }
    };
}
part_of!(part View);
part_of!(part_of_output ViewMut);

/// Copies the elements from `starts` to `ends`, with steps, along some dimensions.
///
/// Indices are as in Python: negative ones count from the end, and those out of range are dropped. Steps may
/// be negative.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`], [`Error::Type`] if types differ,
/// [`Error::Attribute`] for a step of zero.
pub fn strided_slice(out: &mut ViewMut<'_>, x: &View<'_>, with: &StridedSliceAttributes<'_>) -> Result<()> {
    let StridedSliceAttributes { axes, starts, ends, strides } = *with;
    expect_type(out, x)?;
    let x = part(x.clone(), &ranges(x.dims(), axes, starts, ends, strides)?, SAME_RANK)?;
    expect_shape(x.dims(), out.dims())?;
    movement::copy(out, &x)
}

/// Computes the gradient of [`strided_slice`] with respect to `x`: zero outside the part.
///
/// # Errors
/// As [`strided_slice`].
pub fn strided_slice_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    with: &StridedSliceAttributes<'_>,
) -> Result<()> {
    let StridedSliceAttributes { axes, starts, ends, strides } = *with;
    let ranges = ranges(dx.dims(), axes, starts, ends, strides)?;
    put_back(dx, dout, &ranges, SAME_RANK)
}

fn put_back(dx: &mut ViewMut<'_>, dout: &View<'_>, ranges: &[Range], rank: Rank<'_>) -> Result<()> {
    expect_type(dx, dout)?;
    expect_shape(part_of_output(dx.reborrow(), ranges, rank)?.dims(), dout.dims())?;
    let mut memory = None;
    let dout = movement::apart(&[dx], dout, &mut memory)?;
    movement::zero(dx)?;
    movement::copy(&mut part_of_output(dx.reborrow(), ranges, rank)?, &dout)
}

/// Copies elements as [`strided_slice`] does with steps of one, then removes the dimensions of
/// `decrease_axis`, which must have the length one.
///
/// # Errors
/// As [`strided_slice`], and [`Error::Index`] if such a dimension is longer.
pub fn slice(out: &mut ViewMut<'_>, x: &View<'_>, with: &SliceAttributes<'_>) -> Result<()> {
    let SliceAttributes { axes, starts, ends, decrease_axis } = *with;
    expect_type(out, x)?;
    let ranges = ranges(x.dims(), axes, starts, ends, &vec![1; axes.len()])?;
    let x = part(x.clone(), &ranges, Rank { decrease: decrease_axis, none: &[] })?;
    expect_shape(x.dims(), out.dims())?;
    movement::copy(out, &x)
}

/// Computes the gradient of [`slice()`] with respect to `x`: zero outside the part.
///
/// # Errors
/// As [`slice()`].
pub fn slice_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &SliceAttributes<'_>) -> Result<()> {
    let SliceAttributes { axes, starts, ends, decrease_axis } = *with;
    let ranges = ranges(dx.dims(), axes, starts, ends, &vec![1; axes.len()])?;
    put_back(dx, dout, &ranges, Rank { decrease: decrease_axis, none: &[] })
}

/// Computes the shape of [`crop`]: a negative number stands for all elements from the offset to the end.
///
/// # Errors
/// As [`crop`].
pub fn crop_shape(x: TensorMeta<'_>, shape: &[i64], offsets: &[i64]) -> Result<Vec<usize>> {
    let dims = x.dims();
    crate::expect_length("shape", dims.len(), shape.len())?;
    crate::expect_length("offsets", dims.len(), offsets.len())?;
    let len = |axis: usize| match usize::try_from(shape[axis]) {
        Ok(len) => Ok(len),
        Err(_) => {
            let rest =
                (dims[axis] as i64).checked_sub(offsets[axis]).and_then(|rest| usize::try_from(rest).ok());
            rest.ok_or(Error::Index { index: offsets[axis], len: dims[axis] })
        }
    };
    (0..dims.len()).map(len).collect()
}

/// Copies the part of a tensor with a given shape that starts at an offset in each dimension.
///
/// # Errors
/// [`Error::Length`], [`Error::Index`] if the part extends past the tensor, [`Error::Shape`] unless the
/// output has that
/// shape, [`Error::Type`] if types differ.
pub fn crop(out: &mut ViewMut<'_>, x: &View<'_>, shape: &[i64], offsets: &[i64]) -> Result<()> {
    expect_type(out, x)?;
    let dims = crop_shape(x.meta(), shape, offsets)?;
    expect_shape(&dims, out.dims())?;
    let x = part(x.clone(), &window(x.dims(), &dims, offsets)?, SAME_RANK)?;
    movement::copy(out, &x)
}

/// Computes the gradient of [`crop`] with respect to `x`: zero outside the part.
///
/// # Errors
/// As [`crop`].
pub fn crop_grad(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>, offsets: &[i64]) -> Result<()> {
    expect_shape(x.dims(), dx.dims())?;
    let ranges = window(dx.dims(), dout.dims(), offsets)?;
    put_back(dx, dout, &ranges, SAME_RANK)
}

/// Returns the shape of [`crop_grad`]: that of `x`.
///
/// # Errors
/// None.
pub fn crop_grad_shape(x: TensorMeta<'_>, _dout: TensorMeta<'_>, _offsets: &[i64]) -> Result<Vec<usize>> {
    Ok(x.dims().to_vec())
}

fn window(dims: &[usize], lens: &[usize], offsets: &[i64]) -> Result<Vec<Range>> {
    crate::expect_length("offsets", dims.len(), offsets.len())?;
    if dims.len() != lens.len() {
        return Err(Error::Rank { dims: dims.len(), strides: lens.len() });
    }
    let ranges = offsets.iter().enumerate().map(|(axis, &offset)| {
        let start = usize::try_from(offset).map_err(|_| Error::Index { index: offset, len: dims[axis] })?;
        Ok(Range { axis, start, step: 1, len: lens[axis] })
    });
    ranges.collect()
}

/// Copies `x` and writes values to a part of it, which is selected as by [`strided_slice`].
///
/// The part lacks the dimensions of `decrease_axes`, and has additional dimensions of length one at
/// `none_axes`. Values are broadcast to its shape, after removing leading dimensions of length one.
///
/// # Errors
/// As [`strided_slice`], and [`Error::Broadcast`].
pub fn set_value_with_tensor(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    values: &View<'_>,
    axes: &[i64],
    starts: &[i64],
    ends: &[i64],
    steps: &[i64],
    decrease_axes: &[i64],
    none_axes: &[i64],
) -> Result<()> {
    expect_type(out, x)?;
    expect_shape(x.dims(), out.dims())?;
    let ranges = ranges(x.dims(), axes, starts, ends, steps)?;
    let rank = Rank { decrease: decrease_axes, none: none_axes };
    let wanted = part_of_output(out.reborrow(), &ranges, rank)?.dims().to_vec();
    let values = values.clone().drop_leading_ones(wanted.len());
    values.broadcast_strides(&wanted)?;
    let mut memory = None;
    let values = movement::apart(&[out], &values, &mut memory)?;
    movement::copy(out, x)?;
    movement::copy(&mut part_of_output(out.reborrow(), &ranges, rank)?, &values)
}

/// Writes values as [`set_value_with_tensor`] does, from a list of numbers and a shape.
///
/// # Errors
/// As [`set_value_with_tensor`], and [`Error::Length`] if the list does not fit the shape.
pub fn set_value(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    axes: &[i64],
    starts: &[i64],
    ends: &[i64],
    steps: &[i64],
    decrease_axes: &[i64],
    none_axes: &[i64],
    shape: &[i64],
    values: &[f64],
) -> Result<()> {
    let refused = |_| Error::Attribute { name: "shape", value: format!("{shape:?}") };
    let dims: Vec<usize> =
        shape.iter().map(|&dim| usize::try_from(dim).map_err(refused)).collect::<Result<_>>()?;
    let values = View::of_slice(values, &dims)?;
    set_value_with_tensor(out, x, &values, axes, starts, ends, steps, decrease_axes, none_axes)
}

/// Computes the gradients of [`set_value_with_tensor`]: `dout` outside the part with respect to `x`, and
/// inside it with respect to the values.
///
/// # Errors
/// As [`set_value_with_tensor`].
pub fn set_value_grad(
    dx: Option<&mut ViewMut<'_>>,
    dvalues: Option<&mut ViewMut<'_>>,
    dout: &View<'_>,
    with: &SetValueGradAttributes<'_>,
) -> Result<()> {
    let SetValueGradAttributes { axes, starts, ends, steps, decrease_axes, none_axes } = *with;
    let ranges = ranges(dout.dims(), axes, starts, ends, steps)?;
    let rank = Rank { decrease: decrease_axes, none: none_axes };
    if let Some(dvalues) = dvalues {
        let own = part(dout.clone(), &ranges, rank)?;
        let mut own_memory: Option<Buffer> = None;
        let own = match &dx {
            Some(dx) => movement::apart(&[dx], &own, &mut own_memory)?,
            None => own,
        };
        let mut target = dvalues.reborrow();
        while target.dims().len() > own.dims().len() && target.dims()[0] == 1 {
            target = target.select(0, 0)?;
        }
        reduction::sum_to(&mut target, &own)?;
    }
    if let Some(dx) = dx {
        expect_shape(dout.dims(), dx.dims())?;
        movement::copy(dx, dout)?;
        movement::zero(&mut part_of_output(dx.reborrow(), &ranges, rank)?)?;
    }
    Ok(())
}

/// Reverses the elements along some dimensions; the operator is its own gradient.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if types differ.
pub fn flip(out: &mut ViewMut<'_>, x: &View<'_>, axis: &[i64]) -> Result<()> {
    expect_type(out, x)?;
    expect_shape(x.dims(), out.dims())?;
    let mut x = x.clone();
    for axis in axis::axes(axis, x.dims().len())? {
        let len = x.dims()[axis];
        x = x.step(axis, len.saturating_sub(1), -1, len)?;
    }
    movement::copy(out, &x)
}

/// Rotates the elements along dimensions, or in row-major order if no dimension is given.
///
/// Each element moves forward by the shift; elements that pass the end continue at the start. The gradient
/// uses negative shifts.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Length`] unless there is a shift for each dimension,
/// [`Error::Type`] if types differ.
pub fn roll(out: &mut ViewMut<'_>, x: &View<'_>, shifts: &[i64], axis: &[i64]) -> Result<()> {
    expect_type(out, x)?;
    expect_shape(x.dims(), out.dims())?;
    let back = |index: usize, shift: i64, len: usize| {
        (index as i64 - shift % len as i64).rem_euclid(len as i64) as usize
    };
    if axis.is_empty() {
        crate::expect_length("shifts", 1, shifts.len())?;
        return movement::with_word!(x.dtype(), W => {
            let words = movement::words::<W>(x)?;
            let len = words.len();
            let rolled: Vec<W> = (0..len).map(|n| words[back(n, shifts[0], len)]).collect();
            movement::store_words(out, &rolled)
        });
    }
    crate::expect_length("shifts", axis.len(), shifts.len())?;
    let dims = x.dims();
    let mut total = vec![0; dims.len()];
    for (&number, &shift) in axis.iter().zip(shifts) {
        let axis = axis::axis(number, dims.len())?;
        total[axis] = (total[axis] + shift % dims[axis].max(1) as i64) % dims[axis].max(1) as i64;
    }
    let map = |(&len, shift): (&usize, i64)| -> Map {
        (0..len).map(|index| Some(back(index, shift, len))).collect()
    };
    let maps: Vec<Map> = dims.iter().zip(total).map(map).collect();
    take(out, x, &maps, &Buffer::new(x.dtype(), &[])?.view()?)
}

/// Computes the gradient of [`roll`] with respect to `x`: each element moves back by the shift.
///
/// # Errors
/// As [`roll`].
pub fn roll_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, shifts: &[i64], axis: &[i64]) -> Result<()> {
    let back: Vec<i64> = shifts.iter().map(|shift| shift.wrapping_neg()).collect();
    roll(dx, dout, &back, axis)
}

/// Copies the tensor with its dimensions permuted.
///
/// # Errors
/// [`Error::Axis`], [`Error::Rank`], [`Error::Shape`], [`Error::Type`] if types differ.
pub fn transpose(out: &mut ViewMut<'_>, x: &View<'_>, perm: &[i64]) -> Result<()> {
    expect_type(out, x)?;
    let x = x.clone().permute(&axis::axes(perm, x.dims().len())?)?;
    expect_shape(x.dims(), out.dims())?;
    movement::copy(out, &x)
}

/// Computes the gradient of [`transpose`] with respect to `x`: the dimensions in their original order.
///
/// # Errors
/// As [`transpose`].
pub fn transpose_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, perm: &[i64]) -> Result<()> {
    expect_type(dx, dout)?;
    let order = axis::axes(perm, dx.dims().len())?;
    let mut dx = dx.reborrow().permute(&order)?;
    expect_shape(dout.dims(), dx.dims())?;
    movement::copy(&mut dx, dout)
}
