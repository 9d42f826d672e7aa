//! Copies and moves elements regardless of their type.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use num_complex::Complex;

use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::formulas::elementary;
use crate::loops::simd::wide;
use crate::loops::walk::Walk;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};
use crate::threads;

/// Plain bytes with the size of an element and at most its alignment.
pub(crate) trait Word: Pod + Default + Send + Sync {}

impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}
impl Word for [f32; 2] {}
impl Word for [f64; 2] {}
impl Word for Complex<f32> {}
impl Word for Complex<f64> {}

/// Evaluates an expression with the name of the word type for an element type.
macro_rules! with_word {
    ($dtype:expr, $word:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool | $crate::DType::U8 | $crate::DType::I8 => {
                type $word = u8;
                $body
            }
            $crate::DType::I16 | $crate::DType::F16 | $crate::DType::Bf16 => {
                type $word = u16;
                $body
            }
            $crate::DType::I32 | $crate::DType::F32 => {
                type $word = u32;
                $body
            }
            $crate::DType::I64 | $crate::DType::F64 => {
                type $word = u64;
                $body
            }
            $crate::DType::Complex64 => {
                type $word = [f32; 2];
                $body
            }
            $crate::DType::Complex128 => {
                type $word = [f64; 2];
                $body
            }
        }
    };
}
pub(crate) use with_word;

/// Copies elements, broadcast to the shape of the output. Converts elements of a different type.
///
/// # Errors
/// [`Error::Broadcast`]; [`Error::Type`] if exactly one of the types is complex.
pub(crate) fn copy(out: &mut ViewMut<'_>, input: &View<'_>) -> Result<()> {
    input.broadcast_strides(out.dims())?;
    if out.is_empty() {
        return Ok(());
    }
    if out.dtype() != input.dtype() {
        return match (out.dtype(), input.dtype()) {
            (DType::Complex64 | DType::Complex128, _) => Err(Error::Type { dtype: out.dtype() }),
            _ => elementary::copy(out, input),
        };
    }
    if out.overwrites(input) {
        return copy(out, &packed(input)?.view()?);
    }
    let operations = out.len() * threads::ELEMENT;
    let count = threads::count(operations);
    let Some(axis) = out.dims().iter().position(|&dim| dim >= count).filter(|_| count > 1) else {
        return with_word!(out.dtype(), W => copy_words::<W>(out, input));
    };
    let input = input.clone().expand(out.dims())?;
    let mut pairs = Vec::with_capacity(count);
    for (range, out) in out.parts(axis, count)? {
        pairs.push((out, input.clone().narrow(axis, range.start, range.len())?));
    }
    let failed = Mutex::new(Ok(()));
    threads::each(operations, pairs.into_iter(), |(mut out, input)| {
        if let Err(error) = with_word!(out.dtype(), W => copy_words::<W>(&mut out, &input)) {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Copies the elements to a contiguous buffer.
///
/// # Errors
/// [`Error::Overflow`].
pub(crate) fn packed(input: &View<'_>) -> Result<Buffer> {
    let mut buffer = Buffer::new(input.dtype(), input.dims())?;
    copy(&mut buffer.view_mut()?, input)?;
    Ok(buffer)
}

/// Sets all elements to zero.
///
/// # Errors
/// None.
pub(crate) fn zero(out: &mut ViewMut<'_>) -> Result<()> {
    let zero = Buffer::new(out.dtype(), &[])?;
    copy(out, &zero.view()?)
}

/// Copies words. The output is not empty, and writing it does not overwrite input elements that are still to
/// be read.
fn copy_words<W: Word>(out: &mut ViewMut<'_>, input: &View<'_>) -> Result<()> {
    let (to, from) = (out.base().cast::<W>(), input.base().cast::<W>().cast_const());
    // Planning a walk takes longer than copying a few elements.
    if out.is_contiguous() && input.is_contiguous() && out.dims() == input.dims() {
        // SAFETY: both views have `len` contiguous words, which by the contracts of `from_raw` are live; `copy` allows
        // overlapping ranges.
        unsafe { ptr::copy(from, to, input.len()) };
        return Ok(());
    }
    if let Some([row, column]) = transposed(out, input) {
        return copy_transposed(out, input, row, column, to, from);
    }
    walk(out, input)?.rows(|[target, source], row| {
        // SAFETY: the walk visits elements of both views, whose types have the size and alignment of words.
        // By the contracts of `from_raw` they are live, and nothing else writes them.
        let (target, source) = unsafe { (to.add(target), from.add(source)) };
        match row.strides {
            // SAFETY: as above, for all elements of the row; `copy` allows overlapping rows.
            [1, 1] => unsafe { ptr::copy(source, target, row.len) },
            [1, 0] => {
                // SAFETY: as above. It is read only once, so that the compiler vectorises the loop.
                let element = unsafe { source.read() };
                for n in 0..row.len {
                    // SAFETY: as above.
                    unsafe { target.add(n).write(element) };
                }
            }
            [to_stride, from_stride] => {
                for n in 0..row.len as isize {
                    // SAFETY: as above.
                    unsafe { target.offset(n * to_stride).write(source.offset(n * from_stride).read()) };
                }
            }
        }
    });
    Ok(())
}

/// The number of rows and columns of the blocks in which transposed elements are copied: a cache line or two
/// of each.
const BLOCK: usize = 16;

/// Returns the dimensions along which the output and the input are contiguous, if these are two different,
/// long dimensions.
fn transposed(out: &ViewMut<'_>, input: &View<'_>) -> Option<[usize; 2]> {
    let dims = out.dims();
    let beside = |strides: &[isize]| (0..dims.len()).find(|&n| dims[n] >= BLOCK && strides[n] == 1);
    let (row, column) = (beside(out.strides())?, beside(&input.broadcast_strides(dims).ok()?)?);
    (row != column).then_some([row, column])
}

/// Copies words in blocks of two dimensions. Along each of the two, one of the tensors is contiguous.
fn copy_transposed<W: Word>(
    out: &ViewMut<'_>,
    input: &View<'_>,
    row: usize,
    column: usize,
    to: *mut W,
    from: *const W,
) -> Result<()> {
    let strides = input.broadcast_strides(out.dims())?;
    let [rows, columns] = [column, row].map(|axis| out.dims()[axis]);
    let (to_stride, from_stride) = (out.strides()[column], strides[row]);
    let mut others = out.dims().to_vec();
    (others[row], others[column]) = (1, 1);
    Walk::new(&others, [out.strides(), &strides], [out.before(), input.before()]).rows(|starts, walked| {
        walked.each(starts, |[target, source]| {
            for (i, j) in
                (0..rows).step_by(BLOCK).flat_map(|i| (0..columns).step_by(BLOCK).map(move |j| (i, j)))
            {
                if i + BLOCK <= rows && j + BLOCK <= columns {
                    let (i, j) = (i as isize, j as isize);
                    wide(
                        #[inline(always)]
                        // SAFETY: as below, for all elements of the block.
                        || unsafe {
                            let source = from.add(source).offset(i + j * from_stride);
                            copy_block(
                                source,
                                from_stride,
                                to.add(target).offset(i * to_stride + j),
                                to_stride,
                            );
                        },
                    );
                    continue;
                }
                for i in i..rows.min(i + BLOCK) {
                    for j in j..columns.min(j + BLOCK) {
                        let (i, j) = (i as isize, j as isize);
                        // SAFETY: as in `copy_words`: the walk visits the other dimensions, and these are
                        // indices of the two that it leaves out.
                        unsafe {
                            let element = from.add(source).offset(i + j * from_stride).read();
                            to.add(target).offset(i * to_stride + j).write(element);
                        }
                    }
                }
            }
        });
    });
    Ok(())
}

/// Interleaves the rows of the first half of a block with those of the second. Repeating this `log2(rows)`
/// times transposes the block.
#[inline(always)]
fn interleave<W: Word>(block: &[[W; BLOCK]; BLOCK], out: &mut [[W; BLOCK]; BLOCK]) {
    for n in 0..BLOCK / 2 {
        let (first, second) = (&block[n], &block[n + BLOCK / 2]);
        // The compiler turns these loops into vector shuffles.
        for k in 0..BLOCK / 2 {
            out[2 * n][2 * k] = first[k];
            out[2 * n][2 * k + 1] = second[k];
        }
        for k in 0..BLOCK / 2 {
            out[2 * n + 1][2 * k] = first[k + BLOCK / 2];
            out[2 * n + 1][2 * k + 1] = second[k + BLOCK / 2];
        }
    }
}

/// Copies a block of words that is contiguous along one dimension to a block that is contiguous along the
/// other.
///
/// # Safety
/// Both addresses must point to blocks whose rows have these strides.
#[inline(always)]
unsafe fn copy_block<W: Word>(from: *const W, from_stride: isize, to: *mut W, to_stride: isize) {
    let mut block = [[W::default(); BLOCK]; BLOCK];
    for (n, row) in block.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *row = unsafe { from.offset(n as isize * from_stride).cast::<[W; BLOCK]>().read_unaligned() };
    }
    let mut other = block;
    for _ in 0..BLOCK.ilog2() / 2 {
        interleave(&block, &mut other);
        interleave(&other, &mut block);
    }
    for (n, row) in block.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.offset(n as isize * to_stride).cast::<[W; BLOCK]>().write_unaligned(*row) };
    }
}

fn walk(out: &ViewMut<'_>, input: &View<'_>) -> Result<Walk<2>> {
    let strides = input.broadcast_strides(out.dims())?;
    Ok(Walk::new(out.dims(), [out.strides(), &strides], [out.before(), input.before()]))
}

/// Returns true if words have the size and alignment of elements of a type.
pub(crate) fn is_word<W: Word>(dtype: DType) -> bool {
    size_of::<W>() == dtype.size() && align_of::<W>() == dtype.align()
}

fn expect_word<W: Word>(dtype: DType) -> Result<()> {
    if is_word::<W>(dtype) { Ok(()) } else { Err(Error::Type { dtype }) }
}

/// Reads the elements of a tensor as words, in row-major order.
pub(crate) fn words<W: Word>(input: &View<'_>) -> Result<Vec<W>> {
    expect_word::<W>(input.dtype())?;
    let mut words = vec![W::default(); input.len()];
    if input.is_empty() {
        return Ok(words);
    }
    // SAFETY: the vector has that many elements of the type's size and alignment.
    let mut view = unsafe {
        ViewMut::from_raw(
            words.as_mut_ptr().cast(),
            input.dtype(),
            input.dims(),
            &crate::tensor::strided::contiguous_strides(input.dims())?,
        )
    }?;
    copy_words::<W>(&mut view, input)?;
    Ok(words)
}

/// Stores one word for each element of the tensor, in row-major order.
pub(crate) fn store_words<W: Word>(out: &mut ViewMut<'_>, words: &[W]) -> Result<()> {
    crate::expect_length("words", out.len(), words.len())?;
    expect_word::<W>(out.dtype())?;
    if out.is_empty() {
        return Ok(());
    }
    let strides = crate::tensor::strided::contiguous_strides(out.dims())?;
    // SAFETY: the slice has that many elements of the type's size and alignment.
    let view = unsafe { View::from_raw(words.as_ptr().cast(), out.dtype(), out.dims(), &strides) }?;
    copy_words::<W>(out, &view)
}

/// Returns an input that outputs may overwrite while it is read: the input itself if they share no memory
/// with it, otherwise a copy in `memory`.
pub(crate) fn apart<'a>(
    outs: &[&ViewMut<'_>],
    input: &'a View<'_>,
    memory: &'a mut Option<Buffer>,
) -> Result<View<'a>> {
    if !outs.iter().any(|out| out.shares_memory(input)) {
        return Ok(input.clone());
    }
    memory.insert(packed(input)?).view()
}

/// Sets all elements to a number, converted as by elementwise operators.
///
/// # Errors
/// [`Error::Type`] if elements are complex.
pub(crate) fn fill(out: &mut ViewMut<'_>, value: f64) -> Result<()> {
    copy(out, &View::of_slice(&[value], &[])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_elements_are_copied_to_their_places() {
        let dims = [3, 37, 2, 20];
        let strides = [2 * 37 * 20, 1, 37 * 20, 37];
        let x: Vec<u32> = (0..3 * 37 * 2 * 20).collect();
        let mut y = vec![0; x.len()];
        let input = View::of_strided(bytemuck::cast_slice::<_, f32>(&x), &dims, &strides).unwrap();
        let mut out = ViewMut::of_slice(bytemuck::cast_slice_mut::<_, f32>(&mut y), &dims).unwrap();
        assert_eq!(transposed(&out, &input), Some([3, 1]));
        copy(&mut out, &input).unwrap();
        for (place, &element) in y.iter().enumerate() {
            let index = [place / 1480, place / 40 % 37, place / 20 % 2, place % 20];
            let at: usize = index.iter().zip(strides).map(|(&index, stride)| index * stride as usize).sum();
            assert_eq!(element as usize, at, "{index:?}");
        }
    }
}
