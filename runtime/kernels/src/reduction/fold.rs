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

/// The number of independent partial results for long rows: enough vectors that the processor adds while it waits for
/// earlier sums.
const MANY_LANES: usize = 64;

/// The number of independent partial results for short rows, and for the ends of long ones.
const LANES: usize = 16;

/// The number of elements whose sum is computed in their own type. Each partial result adds only sixteen of them, and the
/// sums of blocks are added in the compute type, so that long sums lose little precision.
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
    if input.dtype().is_float() {
        Axes::of(out, input, along, reduce::<F, f64>)
    } else {
        Axes::of(out, input, along, reduce::<F, Wrapping<i64>>)
    }
}

/// Sums the elements along the dimensions along which the output's shape would be broadcast to the input's
/// shape. This is the gradient of broadcasting.
///
/// # Errors
/// [`Error::Broadcast`] if the shapes do not broadcast, and [`Error::Type`] if a type is complex.
pub fn sum_to(out: &mut ViewMut<'_>, input: &View<'_>) -> Result<()> {
    let axes = Axes::repeated(out.dims(), input.dims())?;
    if input.dtype().is_float() {
        reduce::<Sum, f64>(out, input, axes)
    } else {
        reduce::<Sum, Wrapping<i64>>(out, input, axes)
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
    if len == 1 {
        wide(
            #[inline(always)]
            || {
                for part in values.chunks_exact(width) {
                    for (result, value) in results.iter_mut().zip(part) {
                        *result = combine::<F, T>(*result, F::element(value.load()));
                    }
                }
            },
        );
    } else if <F as Fold<T>>::CHOOSES {
        reduce_rows::<F, T>(results, values, len, |row| fold_as_stored::<F, T>(row).load());
    } else if <F as Fold<T>>::ADDS && may_round {
        reduce_rows::<F, T>(results, values, len, |row| {
            let mut result = <F as Fold<T>>::start();
            for block in row.chunks(BLOCK) {
                result = combine::<F, T>(result, sum::<F, T>(block));
            }
            result
        });
    } else {
        reduce_rows::<F, T>(results, values, len, |row| fold_converted::<F, T>(row));
    }
    true
}

/// Combines each result with those of its rows of contiguous elements.
fn reduce_rows<F: Fold<T>, T: Accumulator>(
    results: &mut [T],
    values: &[T::Stored],
    len: usize,
    fold_row: impl Fn(&[T::Stored]) -> T,
) {
    for part in values.chunks_exact(results.len() * len) {
        for (result, row) in results.iter_mut().zip(part.chunks_exact(len)) {
            *result = combine::<F, T>(*result, fold_row(row));
        }
    }
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
fn fold_as_stored<F: Fold<T::Stored>, T: Accumulator>(values: &[T::Stored]) -> T::Stored {
    wide(
        #[inline(always)]
        || {
            fold::<F, T::Stored, T::Stored>(
                values,
                #[inline(always)]
                |&value| value,
            )
        },
    )
}

/// Folds contiguous elements in the compute type.
fn fold_converted<F: Fold<T>, T: Accumulator>(values: &[T::Stored]) -> T {
    wide(
        #[inline(always)]
        || {
            fold::<F, T::Stored, T>(
                values,
                #[inline(always)]
                |&value| value.load(),
            )
        },
    )
}

/// Sums at most [`BLOCK`] elements in their own type, of which vectors hold twice as many. If that sum is not finite, sums in
/// the compute type, because the sum of all elements may be finite.
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
///
/// The widest vectors are chosen for each call instead of for a loop over calls: inside more loops, the compiler keeps the
/// partial results in memory instead of registers, and takes twice as long.
#[inline(always)]
fn fold<F: Fold<T>, S, T: Numeric>(values: &[S], load: impl Fn(&S) -> T + Copy) -> T {
    let (many, rest) = fold_lanes::<F, S, T, MANY_LANES>(values, load);
    let (few, rest) = fold_lanes::<F, S, T, LANES>(rest, load);
    // Small results first, which loses less precision.
    let mut result = F::start();
    for value in rest {
        result = F::step(result, F::element(load(value)));
    }
    F::step(many, F::step(few, result))
}

/// Reduces as many elements as there are partial results, as often as possible. Returns the result and the other elements.
#[inline(always)]
fn fold_lanes<F: Fold<T>, S, T: Numeric, const N: usize>(values: &[S], load: impl Fn(&S) -> T) -> (T, &[S]) {
    let (chunks, rest) = values.as_chunks::<N>();
    if chunks.is_empty() {
        return (F::start(), rest);
    }
    let mut lanes = [F::start(); N];
    for chunk in chunks {
        // A plain loop: the closure of an iterator may not be inlined.
        for n in 0..N {
            lanes[n] = F::step(lanes[n], F::element(load(&chunk[n])));
        }
    }
    (in_pairs(lanes, F::step), rest)
}
