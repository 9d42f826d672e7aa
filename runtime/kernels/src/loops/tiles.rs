//! Elementwise operators with several outputs, some of them optional.

use crate::error::{Error, Result};
use crate::loops::convert::{Compute, Reader, TILE, Writer};
use crate::loops::simd::wide;
use crate::loops::slices::Slot;
use crate::tensor::{View, ViewMut};

/// The number of elements of a block.
const BLOCK: usize = 64;
/// The number of elements of the widest vector.
const VECTOR: usize = 16;
/// The number of blocks of a tile.
const BLOCKS: usize = TILE / BLOCK;

/// Computes a block of all outputs from the same block of all inputs.
///
/// The loops over tensors do not use iterators, whose closures may not be inlined.
#[inline(always)]
fn compute<T: Compute, const M: usize, const N: usize, const K: usize, const L: usize>(
    inputs: &[[[T; L]; K]; N],
    outputs: &mut [[[T; L]; K]; M],
    block: usize,
    each: impl Fn([T; N]) -> [T; M],
) {
    for index in 0..L {
        let (mut values, mut n) = ([T::of(0.0); N], 0);
        while n < N {
            values[n] = inputs[n][block][index];
            n += 1;
        }
        let results = each(values);
        n = 0;
        while n < M {
            outputs[n][block][index] = results[n];
            n += 1;
        }
    }
}

/// Computes elements of output slices from the elements of input slices at the same position, in blocks that
/// the compiler vectorises. All slices have the same length.
pub(crate) fn in_blocks<T: Compute, const M: usize, const N: usize>(
    len: usize,
    mut outs: [&mut [T]; M],
    inputs: [&[T]; N],
    each: impl Fn([T; N]) -> [T; M] + Copy,
) {
    let (mut tiles, mut results) = ([[[T::of(0.0); BLOCK]]; N], [[[T::of(0.0); BLOCK]]; M]);
    for start in (0..len).step_by(BLOCK) {
        let part = start..len.min(start + BLOCK);
        for (tile, input) in tiles.iter_mut().zip(inputs) {
            tile[0][..part.len()].copy_from_slice(&input[part.clone()]);
        }
        let (inputs, outputs) = (&tiles, &mut results);
        wide(
            #[inline(always)]
            move || {
                compute(inputs, outputs, 0, each);
            },
        );
        for (result, out) in results.iter().zip(&mut outs) {
            out[part.clone()].copy_from_slice(&result[0][..part.len()]);
        }
    }
}

/// Computes the elements of all outputs from the elements of all inputs at the same position.
///
/// All tensors have the same shape. A missing input is read as zeros, and a missing output is discarded.
/// Outputs may share memory with inputs: the result is the same as for separate memory. The function should
/// own its settings (`move`), because the compiler does not vectorise loops whose branches depend on borrowed
/// settings.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if a type is complex.
pub(crate) fn update<T: Compute + Slot, const M: usize, const N: usize>(
    mut outs: [Option<ViewMut<'_>>; M],
    inputs: [Option<&View<'_>>; N],
    each: impl Fn([T; N]) -> [T; M] + Copy,
) -> Result<()> {
    let shapes = outs.iter().flatten().map(|out| (out.dims(), out.dtype()));
    let shapes = shapes.chain(inputs.iter().flatten().map(|input| (input.dims(), input.dtype())));
    let mut first: Option<&[usize]> = None;
    for (dims, dtype) in shapes {
        if dtype.is_complex() {
            return Err(Error::Type { dtype });
        }
        let expected = *first.get_or_insert(dims);
        if dims != expected {
            return Err(Error::Shape { expected: expected.to_vec(), actual: dims.to_vec() });
        }
    }
    let Some(dims) = first.map(<[usize]>::to_vec) else { return Ok(()) };
    if dims.contains(&0) {
        return Ok(());
    }
    let mut copies: [Vec<T>; N] = [const { Vec::new() }; N];
    for (copy, input) in copies.iter_mut().zip(&inputs) {
        if let Some(input) = input
            && outs.iter().flatten().any(|out| out.overwrites(input))
        {
            *copy = T::load(input)?;
        }
    }
    if copies.iter().all(Vec::is_empty) && update_directly(&mut outs, inputs, each) {
        return Ok(());
    }
    let mut readers = Vec::with_capacity(N);
    for (copy, input) in copies.iter().zip(&inputs) {
        readers.push(match input {
            None => None,
            Some(input) if copy.is_empty() => Some(Reader::new(input, &dims)?),
            Some(_) => Some(Reader::new(&View::of_slice(copy, &dims)?, &dims)?),
        });
    }
    let mut left: usize = dims.iter().product();
    let mut writers = Vec::with_capacity(M);
    for out in &mut outs {
        writers.push(out.as_mut().map(|out| Writer::<T>::new(out)).transpose()?);
    }
    let mut tiles = [[[T::of(0.0); BLOCK]; BLOCKS]; N];
    let mut results = [[[T::of(0.0); BLOCK]; BLOCKS]; M];
    while left > 0 {
        let len = left.min(TILE);
        for (reader, tile) in readers.iter_mut().zip(&mut tiles) {
            if let Some(reader) = reader {
                reader.read(&mut tile.as_flattened_mut()[..len]);
            }
        }
        let (inputs, outputs) = (&tiles, &mut results);
        wide(
            #[inline(always)]
            move || {
                // Whole blocks: the compiler vectorises loops of constant length. Results past the end are
                // not written.
                for block in 0..len.div_ceil(BLOCK) {
                    compute(inputs, outputs, block, each);
                }
            },
        );
        for (writer, result) in writers.iter_mut().zip(&results) {
            if let Some(writer) = writer {
                writer.write(&result.as_flattened()[..len]);
            }
        }
        left -= len;
    }
    Ok(())
}

/// Updates tensors without conversions: the processor loads elements while it computes others. Returns false and
/// writes nothing if a tensor has another type or is not contiguous.
///
/// The tensors have the same shape, which has elements, and no output overwrites an input before it is read.
fn update_directly<T: Compute + Slot, const M: usize, const N: usize>(
    outs: &mut [Option<ViewMut<'_>>; M],
    inputs: [Option<&View<'_>>; N],
    each: impl Fn([T; N]) -> [T; M] + Copy,
) -> bool {
    let is_plain = outs.iter().flatten().all(|out| T::fits(out.dtype()) && out.is_contiguous())
        && inputs.iter().flatten().all(|input| T::fits(input.dtype()) && input.is_contiguous());
    let len = outs.iter().flatten().map(|out| out.len()).next();
    let Some(len) = len.filter(|_| is_plain) else { return false };
    let sources = inputs.map(|input| input.map(|input| input.base().cast::<T>().cast_const()));
    let targets = outs.each_mut().map(|out| out.as_mut().map(|out| out.base().cast::<T>()));
    wide(
        #[inline(always)]
        move || {
            let mut start = 0;
            while start + VECTOR <= len {
                // SAFETY: the tensors have `len` contiguous elements of type `T`, which are live and initialised by the
                // contracts of `View::from_raw` and `ViewMut::from_raw`.
                unsafe { update_at(start, VECTOR, sources, targets, each) };
                start += VECTOR;
            }
            // SAFETY: as above.
            unsafe { update_at(start, len - start, sources, targets, each) };
        },
    );
    true
}

/// Updates up to a vector of elements. For a whole one, the compiler keeps all tensors in registers.
///
/// # Safety
/// From `start` on, each tensor has `count` elements that are live and initialised.
#[inline(always)]
unsafe fn update_at<T: Compute, const M: usize, const N: usize>(
    start: usize,
    count: usize,
    sources: [Option<*const T>; N],
    targets: [Option<*mut T>; M],
    each: impl Fn([T; N]) -> [T; M],
) {
    let (mut tiles, mut results) = ([[[T::of(0.0); VECTOR]]; N], [[[T::of(0.0); VECTOR]]; M]);
    for n in 0..N {
        if let Some(source) = sources[n] {
            // SAFETY: the caller's promise. A tile has `VECTOR` elements.
            unsafe { copy(source.add(start), tiles[n][0].as_mut_ptr(), count) };
        }
    }
    compute(&tiles, &mut results, 0, each);
    for m in 0..M {
        if let Some(target) = targets[m] {
            // SAFETY: as above. Inputs in the same place have been read up to here.
            unsafe { copy(results[m][0].as_ptr(), target.add(start), count) };
        }
    }
}

/// Copies up to a vector of elements. A whole one takes no call, because its length is known.
///
/// # Safety
/// Both pointers are valid for `count` elements, which do not overlap.
#[inline(always)]
unsafe fn copy<T: Copy>(source: *const T, target: *mut T, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            VECTOR => target.copy_from_nonoverlapping(source, VECTOR),
            _ => target.copy_from_nonoverlapping(source, count),
        }
    }
}
