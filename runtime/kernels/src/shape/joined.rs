//! Joining and splitting tensors.

use super::expect_type;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement::{self, packed, with_word};
use crate::loops::slices::{Slot, elements, with_slices};
use crate::reduction;
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};
use crate::threads;

/// Checks that a tensor has the shape of another except in one dimension, and returns its length in that
/// dimension.
fn part_len(dims: &[usize], whole: &[usize], axis: usize) -> Result<usize> {
    let mut pairs = dims.iter().zip(whole).enumerate();
    if dims.len() != whole.len() || pairs.any(|(n, (dim, whole))| n != axis && dim != whole) {
        return Err(Error::Shape { expected: whole.to_vec(), actual: dims.to_vec() });
    }
    Ok(dims[axis])
}

/// Checks that the lengths of parts add up to a dimension.
fn expect_whole(parts: &[usize], whole: &[usize], axis: usize) -> Result<()> {
    let sum = parts.iter().try_fold(0_usize, |sum, &part| sum.checked_add(part)).ok_or(Error::Overflow)?;
    if sum == whole[axis] {
        return Ok(());
    }
    let mut expected = whole.to_vec();
    expected[axis] = sum;
    Err(Error::Shape { expected, actual: whole.to_vec() })
}

/// Returns copies of the inputs if an output may overwrite them.
fn kept_apart(outs: &[&ViewMut<'_>], xs: &[View<'_>]) -> Result<Option<Vec<crate::Buffer>>> {
    let shared = xs.iter().any(|x| outs.iter().any(|out| out.shares_memory(x)));
    shared.then(|| xs.iter().map(packed).collect()).transpose()
}

/// Returns the requested outputs of a list.
fn wanted<'o, 'v>(outs: &'o [Option<ViewMut<'v>>]) -> Vec<&'o ViewMut<'v>> {
    outs.iter().flatten().collect()
}

/// Returns the outputs of a list. All are required, because their lengths determine where each part begins.
fn all_of<'o, 'v>(outs: &'o mut [Option<ViewMut<'v>>]) -> Result<Vec<&'o mut ViewMut<'v>>> {
    let count = outs.len();
    let given: Vec<&'o mut ViewMut<'v>> = outs.iter_mut().flatten().collect();
    crate::expect_length("outs", count, given.len())?;
    Ok(given)
}

/// Joins tensors along an existing dimension.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if types differ.
pub fn concat(out: &mut ViewMut<'_>, xs: &[View<'_>], axis: i64) -> Result<()> {
    let axis = axis::axis(axis, out.dims().len())?;
    let parts: Vec<usize> = xs.iter().map(|x| part_len(x.dims(), out.dims(), axis)).collect::<Result<_>>()?;
    xs.iter().try_for_each(|x| expect_type(out, x))?;
    expect_whole(&parts, out.dims(), axis)?;
    if let Some(copies) = kept_apart(&[out], xs)? {
        let views: Vec<View<'_>> = copies.iter().map(crate::Buffer::view).collect::<Result<_>>()?;
        return join(out, &views, axis);
    }
    join(out, xs, axis)
}

/// Joins tensors that share no memory with the output.
fn join(out: &mut ViewMut<'_>, xs: &[View<'_>], axis: usize) -> Result<()> {
    if out.is_contiguous() && xs.iter().all(View::is_contiguous) {
        return with_word!(out.dtype(), W => join_rows::<W>(out, xs, axis));
    }
    let mut start = 0;
    for x in xs {
        let len = x.dims()[axis];
        movement::copy(&mut out.reborrow().narrow(axis, start, len)?, x)?;
        start += len;
    }
    Ok(())
}

/// Joins contiguous tensors: the elements that follow each other in an input do so in the output.
fn join_rows<W: Slot>(out: &mut ViewMut<'_>, xs: &[View<'_>], axis: usize) -> Result<()> {
    let width: usize = out.dims()[axis..].iter().product();
    with_slices::<W, 1, 0>([out.reborrow()], [], |[out], []| {
        let filled = xs.iter().filter(|x| !x.is_empty());
        let xs = filled.map(|x| Ok((x.dims()[axis..].iter().product::<usize>(), elements::<W>(x)?)));
        let xs = xs.collect::<Result<Vec<_>>>()?;
        threads::split(out.len() * threads::ELEMENT, out, width, |first, rows| {
            let mut start = 0;
            for (part, values) in &xs {
                let values = values[first / width * part..].chunks_exact(*part);
                for (row, values) in rows.chunks_exact_mut(width).zip(values) {
                    row[start..][..*part].copy_from_slice(values);
                }
                start += part;
            }
        });
        Ok(())
    })
}

/// Computes the gradients of [`concat()`] with respect to its inputs, as [`split`] does.
///
/// # Errors
/// As [`split`].
pub fn concat_grad(dxs: &mut [Option<ViewMut<'_>>], dout: &View<'_>, axis: i64) -> Result<()> {
    split(dxs, dout, axis)
}

/// Splits a tensor along a dimension into parts that are as long as the outputs, all of which must be given.
///
/// # Errors
/// As [`concat()`].
pub fn split(outs: &mut [Option<ViewMut<'_>>], x: &View<'_>, axis: i64) -> Result<()> {
    let axis = axis::axis(axis, x.dims().len())?;
    let outs = all_of(outs)?;
    let parts: Vec<usize> =
        outs.iter().map(|out| part_len(out.dims(), x.dims(), axis)).collect::<Result<_>>()?;
    outs.iter().try_for_each(|out| expect_type(out, x))?;
    expect_whole(&parts, x.dims(), axis)?;
    let mut memory = None;
    let shorter: Vec<&ViewMut<'_>> = outs.iter().map(|out| &**out).collect();
    let x = movement::apart(&shorter, x, &mut memory)?;
    let mut start = 0;
    for (out, len) in outs.into_iter().zip(parts) {
        movement::copy(out, &x.clone().narrow(axis, start, len)?)?;
        start += len;
    }
    Ok(())
}

/// Joins tensors of the same shape along a new dimension.
///
/// # Errors
/// As [`concat()`].
pub fn stack(out: &mut ViewMut<'_>, xs: &[View<'_>], axis: i64) -> Result<()> {
    let place = axis::axis(axis, out.dims().len())?;
    let longer: Vec<View<'_>> = xs
        .iter()
        .map(|x| {
            if x.dims().len() + 1 == out.dims().len() {
                x.clone().insert(place)
            } else {
                Err(Error::Shape { expected: out.dims()[1..].to_vec(), actual: x.dims().to_vec() })
            }
        })
        .collect::<Result<_>>()?;
    concat(out, &longer, axis)
}

/// Computes the gradients of [`stack`] with respect to its inputs, as [`unstack`] does.
///
/// # Errors
/// As [`unstack`].
pub fn stack_grad(dxs: &mut [Option<ViewMut<'_>>], dout: &View<'_>, axis: i64) -> Result<()> {
    unstack(dxs, dout, axis)
}

/// Splits a tensor into one output for each index of a dimension. The outputs lack that dimension.
///
/// # Errors
/// As [`concat()`], and [`Error::Length`] unless there is an output for each index.
pub fn unstack(outs: &mut [Option<ViewMut<'_>>], x: &View<'_>, axis: i64) -> Result<()> {
    let axis = axis::axis(axis, x.dims().len())?;
    crate::expect_length("outs", x.dims()[axis], outs.len())?;
    let mut dims = x.dims().to_vec();
    dims.remove(axis);
    for out in wanted(outs) {
        expect_shape(&dims, out.dims())?;
        expect_type(out, x)?;
    }
    let mut memory = None;
    let x = movement::apart(&wanted(outs), x, &mut memory)?;
    for (index, out) in outs.iter_mut().enumerate() {
        if let Some(out) = out {
            movement::copy(out, &x.clone().select(axis, index)?)?;
        }
    }
    Ok(())
}

/// Computes the shape of a grid from the lengths of vectors. A tensor without dimensions has one element.
fn grid<'v>(xs: impl Iterator<Item = &'v [usize]>) -> Result<Vec<usize>> {
    xs.map(|dims| match dims {
        [] => Ok(1),
        [len] => Ok(*len),
        _ => Err(Error::Rank { dims: dims.len(), strides: 1 }),
    })
    .collect()
}

/// Repeats each vector along all dimensions of a grid except its own.
///
/// # Errors
/// [`Error::Rank`] for an input with more than one dimension, [`Error::Length`], [`Error::Shape`], [`Error::Type`].
pub fn meshgrid(outs: &mut [Option<ViewMut<'_>>], xs: &[View<'_>]) -> Result<()> {
    crate::expect_length("outs", xs.len(), outs.len())?;
    let dims = grid(xs.iter().map(View::dims))?;
    for (out, x) in outs.iter().zip(xs) {
        if let Some(out) = out {
            expect_shape(&dims, out.dims())?;
            expect_type(out, x)?;
        }
    }
    let copies = kept_apart(&wanted(outs), xs)?;
    for (n, (out, x)) in outs.iter_mut().zip(xs).enumerate() {
        let Some(out) = out else { continue };
        let x = match &copies {
            None => x.clone(),
            Some(copies) => copies[n].view()?,
        };
        let missing = dims.len() - n - x.dims().len();
        movement::copy(out, &x.append_dimensions(missing).expand(&dims)?)?;
    }
    Ok(())
}

/// Computes the gradients of [`meshgrid`] with respect to its inputs: the sums along all dimensions except
/// their own.
///
/// # Errors
/// As [`meshgrid`].
pub fn meshgrid_grad(dxs: &mut [Option<ViewMut<'_>>], douts: &[View<'_>]) -> Result<()> {
    crate::expect_length("douts", dxs.len(), douts.len())?;
    let Some(first) = douts.first() else { return Ok(()) };
    let dims = first.dims().to_vec();
    douts.iter().try_for_each(|dout| expect_shape(&dims, dout.dims()))?;
    crate::expect_length("dims", dxs.len(), dims.len())?;
    for (n, (dx, dout)) in dxs.iter_mut().zip(douts).enumerate() {
        let Some(dx) = dx else { continue };
        let own = grid(std::iter::once(dx.dims()))?;
        if own != dims[n..=n] {
            return Err(Error::Shape { expected: dims[n..=n].to_vec(), actual: own });
        }
        let missing = dims.len() - n - dx.dims().len();
        reduction::sum_to(&mut dx.reborrow().append_dimensions(missing), dout)?;
    }
    Ok(())
}
