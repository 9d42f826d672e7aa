//! Folds: one value from all elements along some dimensions.

use std::num::Wrapping;

use super::along::{Along, Axes};
use crate::cast::Cast;
use crate::elements::dtype::Element;
use crate::error::{Error, Result};
use crate::formulas::reduction::Sum;
use crate::loops::convert::{Compute, Reader, TILE, Writer};
use crate::loops::lines::in_pairs;
use crate::loops::simd::wide;
use crate::numeric::Numeric;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// The number of independent partial results for long rows. The compiler does not unroll a loop of this length,
/// and vectorises it for the widest vectors; of shorter loops, it vectorises two results at a time.
const MANY_LANES: usize = 128;

/// The number of independent partial results for short rows.
const LANES: usize = 32;

/// The number of elements whose sum is computed in their own type. Each partial result adds sixteen of them, so that the sum
/// is at least as accurate as in frameworks, which never use a wider type.
const BLOCK: usize = 16 * MANY_LANES;

/// Combines elements into one value, in numbers of the type `T`. Apart from rounding, the order of the elements must
/// not matter.
pub trait Fold<T> {
    /// True if the result is always one of the elements, so that every element type can hold it.
    const CHOOSES: bool = false;
    /// True if the result is the sum of the elements, so that the sum of a few may be rounded to their type.
    const ADDS: bool = false;
    /// True if there must be an element.
    const NONEMPTY: bool = false;

    /// Returns the result for no elements.
    fn start() -> T;

    /// Returns the value of an element.
    #[must_use]
    #[inline(always)]
    fn element(x: T) -> T {
        x
    }

    /// Combines two results.
    fn step(left: T, right: T) -> T;

    /// Returns the output, from the result and the number of elements.
    #[must_use]
    #[inline(always)]
    fn finish(result: T, count: T) -> T {
        let _ = count;
        result
    }
}

/// Folds floating-point numbers.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Type`] if the input is not floating-point or the output is complex, and
/// [`Error::Empty`] if the fold needs an element and there is none.
pub fn float<F: Fold<f32> + Fold<f64>>(
    _: F,
    out: &mut ViewMut<'_>,
    input: &View<'_>,
    along: Along<'_>,
) -> Result<()> {
    if !input.dtype().is_float() {
        return Err(Error::Type { dtype: input.dtype() });
    }
    Axes::of(out, input, along, reduce::<F, f64>)
}

/// Folds floating-point numbers, integers or booleans.
///
/// # Errors
/// As [`float`], and [`Error::Type`] only if a type is complex.
pub fn numeric<F: Fold<f32> + Fold<f64> + Fold<Wrapping<i64>>>(
    _: F,
    out: &mut ViewMut<'_>,
    input: &View<'_>,
    along: Along<'_>,
) -> Result<()> {
    match input.dtype().is_float() {
        true => Axes::of(out, input, along, reduce::<F, f64>),
        false => Axes::of(out, input, along, reduce::<F, Wrapping<i64>>),
    }
}

/// Sums the elements along the dimensions along which the output's shape would be broadcast to the input's
/// shape. This is the gradient of broadcasting.
///
/// # Errors
/// [`Error::Broadcast`] if the shapes do not broadcast, and [`Error::Type`] if a type is complex.
pub fn sum_to(out: &mut ViewMut<'_>, input: &View<'_>) -> Result<()> {
    let axes = Axes::repeated(out.dims(), input.dims())?;
    match input.dtype().is_float() {
        true => reduce::<Sum, f64>(out, input, axes),
        false => reduce::<Sum, Wrapping<i64>>(out, input, axes),
    }
}

/// Computes a tensor of the given shape in temporary memory, and sums its elements as [`sum_to`] does.
///
/// # Errors
/// As [`sum_to`], [`Error::Overflow`], and those of `compute`.
pub fn sum_of(
    out: &mut ViewMut<'_>,
    dims: &[usize],
    compute: impl FnOnce(&mut ViewMut<'_>) -> Result<()>,
) -> Result<()> {
    let mut large = Buffer::new(out.dtype(), dims)?;
    compute(&mut large.view_mut()?)?;
    sum_to(out, &large.view()?)
}

/// A compute type, and the element type that it is most often used for.
trait Accumulator: Compute {
    type Stored: Element + Numeric + Cast<Self>;
}

impl Accumulator for f64 {
    type Stored = f32;
}

impl Accumulator for Wrapping<i64> {
    type Stored = Self;
}

/// Reduces elements of the most frequent type if they are contiguous and the kept dimensions follow each other.
/// Returns false otherwise. The sums of a few elements are rounded to their type if `may_round`.
fn reduce_directly<F: Fold<T> + Fold<T::Stored>, T: Accumulator>(
    results: &mut [T],
    input: &View<'_>,
    axes: &Axes,
    may_round: bool,
) -> bool {
    let Some(values) = input.slice::<T::Stored>() else { return false };
    if axes.kept.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
        return false;
    }
    let width = results.len();
    // The number of elements that are reduced together and are contiguous.
    let len = match axes.kept.last() {
        Some(&last) => input.dims()[last + 1..].iter().product(),
        None => values.len(),
    };
    wide(
        #[inline(always)]
        || {
            for part in values.chunks_exact(width * len) {
                if len == 1 {
                    for (result, value) in results.iter_mut().zip(part) {
                        *result = combine::<F, T>(*result, F::element(value.load()));
                    }
                    continue;
                }
                for (result, row) in results.iter_mut().zip(part.chunks_exact(len)) {
                    if <F as Fold<T>>::CHOOSES {
                        *result = combine::<F, T>(*result, fold_as_stored::<F, T>(row).load());
                    } else if <F as Fold<T>>::ADDS && may_round {
                        for block in row.chunks(BLOCK) {
                            *result = combine::<F, T>(*result, sum::<F, T>(block));
                        }
                    } else {
                        *result = combine::<F, T>(*result, fold_converted::<F, T>(row));
                    }
                }
            }
        },
    );
    true
}

fn reduce<F: Fold<T> + Fold<T::Stored>, T: Accumulator>(
    out: &mut ViewMut<'_>,
    input: &View<'_>,
    axes: Axes,
) -> Result<()> {
    if let Some(dtype) = [input.dtype(), out.dtype()].into_iter().find(|dtype| dtype.is_complex()) {
        return Err(Error::Type { dtype });
    }
    if out.is_empty() {
        return Ok(());
    }
    if <F as Fold<T>>::NONEMPTY && input.is_empty() {
        return Err(Error::Empty);
    }
    // All results are computed before the first is written: the output may overlap elements that are still to
    // be read.
    let mut results = vec![<F as Fold<T>>::start(); out.len()];
    let len = axes.reduced_len(input);
    // An output with a wider type asks for more precision than the elements have.
    let may_round = out.dtype() == input.dtype();
    if !input.is_empty() && !reduce_directly::<F, T>(&mut results, input, &axes, may_round) {
        let (kept, reduced) = (axes.kept.iter().copied(), axes.reduced.iter().copied());
        if axes.reduces_neighbours(input) {
            let mut reader = Reader::in_order(input, kept.chain(reduced))?;
            read_rows(&mut reader, results.len(), len, |row, _, part| {
                results[row] = combine::<F, T>(results[row], fold::<F, T, T>(part, |value| *value));
            });
        } else {
            let mut reader = Reader::in_order(input, reduced.chain(kept))?;
            let width = results.len();
            read_rows(&mut reader, len, width, |_, start, part| {
                let results = results[start..].iter_mut().zip(part);
                results.for_each(|(result, &value)| *result = combine::<F, T>(*result, F::element(value)));
            });
        }
    }
    let count = T::of(len as f64);
    results.iter_mut().for_each(|result| *result = F::finish(*result, count));
    Writer::new(out)?.write(&results);
    Ok(())
}

/// Calls `visit` with parts of rows: the number of the row, the start of the part in the row, and the
/// elements.
fn read_rows<T: Compute>(
    reader: &mut Reader<'_, T>,
    rows: usize,
    len: usize,
    mut visit: impl FnMut(usize, usize, &[T]),
) {
    let mut tile = [T::of(0.0); TILE];
    if len > TILE {
        for (row, start) in (0..rows).flat_map(|row| (0..len).step_by(TILE).map(move |start| (row, start))) {
            let part = &mut tile[..TILE.min(len - start)];
            reader.read(part);
            visit(row, start, part);
        }
        return;
    }
    let at_once = TILE / len;
    for first in (0..rows).step_by(at_once) {
        let tile = &mut tile[..at_once.min(rows - first) * len];
        reader.read(tile);
        tile.chunks_exact(len).enumerate().for_each(|(row, part)| visit(first + row, 0, part));
    }
}

/// Folds contiguous elements in their own type.
#[inline(always)]
fn fold_as_stored<F: Fold<T::Stored>, T: Accumulator>(values: &[T::Stored]) -> T::Stored {
    fold::<F, T::Stored, T::Stored>(
        values,
        #[inline(always)]
        |&value| value,
    )
}

/// Folds contiguous elements in the compute type.
#[inline(always)]
fn fold_converted<F: Fold<T>, T: Accumulator>(values: &[T::Stored]) -> T {
    fold::<F, T::Stored, T>(
        values,
        #[inline(always)]
        |&value| value.load(),
    )
}

/// Sums at most [`BLOCK`] elements in their own type, of which vectors hold twice as many. If that sum is not finite, sums in
/// the compute type, because the sum of all elements may be finite.
#[inline(always)]
fn sum<F: Fold<T> + Fold<T::Stored>, T: Accumulator>(values: &[T::Stored]) -> T {
    let sum = fold_as_stored::<F, T>(values);
    if sum.is_finite() { sum.load() } else { fold_converted::<F, T>(values) }
}

/// Combines two results. The type is stated: a fold of several types has a step for each.
#[inline(always)]
fn combine<F: Fold<T>, T>(left: T, right: T) -> T {
    F::step(left, right)
}

/// Reduces contiguous elements.
#[inline(always)]
fn fold<F: Fold<T>, S, T: Numeric>(values: &[S], load: impl Fn(&S) -> T) -> T {
    let (long_chunks, rest) = values.as_chunks::<MANY_LANES>();
    let (chunks, rest) = rest.as_chunks::<LANES>();
    let mut lanes = [F::start(); LANES];
    // Plain loops: the closure of an iterator may not be inlined.
    if !long_chunks.is_empty() {
        let mut many = [F::start(); MANY_LANES];
        for chunk in long_chunks {
            for n in 0..MANY_LANES {
                many[n] = F::step(many[n], F::element(load(&chunk[n])));
            }
        }
        for part in many.as_chunks::<LANES>().0 {
            for n in 0..LANES {
                lanes[n] = F::step(lanes[n], part[n]);
            }
        }
    }
    for chunk in chunks {
        for n in 0..LANES {
            lanes[n] = F::step(lanes[n], F::element(load(&chunk[n])));
        }
    }
    let mut result = in_pairs(lanes, F::step);
    for value in rest {
        result = F::step(result, F::element(load(value)));
    }
    result
}
