//! Elementwise operators with several outputs, some of which need not be wanted.

use crate::convert::{Compute, Reader, TILE, Writer};
use crate::error::{Error, Result};
use crate::slices::Slot;
use crate::tensor::{View, ViewMut};

/// Computes elements of all outputs from those of all inputs in the same place.
///
/// All tensors have one shape. An input that is not given has zeros, and an output that is not given is dropped.
/// Outputs may share memory with inputs: the result is that of inputs elsewhere. The function should own its settings
/// (`move`): the compiler does not vectorise a loop whose branches depend on borrowed ones.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if a type is complex.
pub(crate) fn update<T: Compute + Slot, const M: usize, const N: usize>(
    mut outs: [Option<ViewMut<'_>>; M],
    inputs: [Option<&View<'_>>; N],
    each: impl Fn([T; N]) -> [T; M],
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
    let (mut tiles, mut results) = ([[T::of(0.0); TILE]; N], [[T::of(0.0); TILE]; M]);
    while left > 0 {
        let len = left.min(TILE);
        for (reader, tile) in readers.iter_mut().zip(&mut tiles) {
            if let Some(reader) = reader {
                reader.read(&mut tile[..len]);
            }
        }
        let mut compute = |index: usize| {
            let values = each(std::array::from_fn(|n| tiles[n][index]));
            (0..M).for_each(|n| results[n][index] = values[n]);
        };
        if len == TILE {
            // The length is constant: without checks the loop is vectorised.
            (0..TILE).for_each(&mut compute);
        } else {
            (0..len).for_each(&mut compute);
        }
        for (writer, result) in writers.iter_mut().zip(&results) {
            if let Some(writer) = writer {
                writer.write(&result[..len]);
            }
        }
        left -= len;
    }
    Ok(())
}
