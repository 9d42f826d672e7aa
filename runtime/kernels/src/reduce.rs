//! Reductions: one value from all elements along some dimensions.
//!
//! ```
//! use tenon_kernels::{View, ViewMut, reduce};
//!
//! let (x, mut y) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0_f32; 3]);
//! reduce::sum(&mut ViewMut::of_slice(&mut y, &[3])?, &View::of_slice(&x, &[2, 3])?, &[0])?;
//! assert_eq!(y, [5.0, 7.0, 9.0]);
//! # Ok::<(), tenon_kernels::Error>(())
//! ```
//!
//! The output has the shape of the input without the reduced dimensions, or with the length one for each of
//! them. Without axes, nothing is reduced. Floats of all types are accumulated in `f64`, integers and
//! booleans in `Wrapping<i64>`; results are converted to the type of the output as by elementwise operators.
//! The output may share memory with the input.

use std::num::Wrapping;

use crate::cast::Cast;
use crate::elements::dtype::Element;
use crate::error::{Error, Result};
use crate::loops::convert::{Compute, Reader, TILE, Writer};
use crate::loops::lines::in_pairs;
use crate::loops::simd::wide;
use crate::numeric::Numeric;
use crate::tensor::buffer::Buffer;
use crate::tensor::{PerDimension, View, ViewMut};

/// The number of independent partial results for long rows. The compiler does not unroll a loop of this length,
/// and vectorises it for the widest vectors; of shorter loops, it vectorises two results at a time.
const MANY_LANES: usize = 128;

/// The number of independent partial results for short rows.
const LANES: usize = 32;

/// Combines elements into one value. Apart from rounding, the order of the elements must not matter.
trait Fold {
    /// True if the result is always one of the elements, so that every element type can hold it.
    const CHOOSES: bool = false;
    /// Returns the result for no elements.
    fn start<T: Numeric>() -> T;
    /// Combines two values.
    fn step<T: Numeric>(left: T, right: T) -> T;
}

macro_rules! folds {
    ($($fold:ident $(chooses $chooses:literal)?: $start:expr, |$left:ident, $right:ident| $step:expr;)*) => {$(
        struct $fold;

        impl Fold for $fold {
            $(const CHOOSES: bool = $chooses;)?

            #[inline(always)]
            fn start<T: Numeric>() -> T {
                T::of($start)
            }

            #[inline(always)]
            fn step<T: Numeric>($left: T, $right: T) -> T {
                $step
            }
        }
    )*};
}
folds! {
    Sum: 0.0, |left, right| left + right;
    Product: 1.0, |left, right| left * right;
    // Integers have no infinity: the extreme value of the type takes its place.
    Largest chooses true: f64::NEG_INFINITY, |left, right| left.max(right);
    Smallest chooses true: f64::INFINITY, |left, right| left.min(right);
    Any: 0.0, |left, right| T::of_truth(left.truth() | right.truth());
    All: 1.0, |left, right| T::of_truth(left.truth() & right.truth());
}

/// Sums the elements along dimensions.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], and [`Error::Type`] if a type is complex.
pub fn sum(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    reduce::<Sum>(out, input, Axes::new(out, input, axes)?)
}

/// Sums the elements along the dimensions along which the output's shape would be broadcast to the input's
/// shape. This is the gradient of broadcasting.
///
/// # Errors
/// [`Error::Broadcast`] if the shapes do not broadcast, and [`Error::Type`] if a type is complex.
pub fn sum_to(out: &mut ViewMut<'_>, input: &View<'_>) -> Result<()> {
    reduce::<Sum>(out, input, Axes::repeated(out.dims(), input.dims())?)
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

/// Computes the mean of the elements along dimensions. The mean of no elements is NaN.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], and [`Error::Type`] if the input is not floating-point or the output is
/// complex.
pub fn mean(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    if !input.dtype().is_float() {
        return Err(Error::Type { dtype: input.dtype() });
    }
    let axes = Axes::new(out, input, axes)?;
    let count = axes.reduced_len(input) as f64;
    reduce_in::<Sum, f64>(out, input, axes, |sum| sum / count)
}

/// Multiplies the elements along dimensions.
///
/// # Errors
/// As [`sum`].
pub fn prod(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    reduce::<Product>(out, input, Axes::new(out, input, axes)?)
}

/// Computes the maximum along dimensions: NaN if an element is NaN.
///
/// # Errors
/// As [`sum`], and [`Error::Empty`] if an element of the output would be computed from no elements.
pub fn max(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    let axes = Axes::new(out, input, axes)?.some(out, input)?;
    reduce::<Largest>(out, input, axes)
}

/// Computes the minimum along dimensions: NaN if an element is NaN.
///
/// # Errors
/// As [`max`].
pub fn min(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    let axes = Axes::new(out, input, axes)?.some(out, input)?;
    reduce::<Smallest>(out, input, axes)
}

/// Tests whether any element along dimensions is nonzero. NaN is nonzero.
///
/// # Errors
/// As [`sum`].
pub fn any(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    reduce::<Any>(out, input, Axes::new(out, input, axes)?)
}

/// Tests whether all elements along dimensions are nonzero. NaN is nonzero.
///
/// # Errors
/// As [`sum`].
pub fn all(out: &mut ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<()> {
    reduce::<All>(out, input, Axes::new(out, input, axes)?)
}

/// The dimensions of an input, split into reduced and kept ones.
struct Axes {
    kept: PerDimension<usize>,
    reduced: PerDimension<usize>,
}

impl Axes {
    /// Reduces the given dimensions, which the output either lacks or has with the length one.
    fn new(out: &ViewMut<'_>, input: &View<'_>, axes: &[usize]) -> Result<Self> {
        let dims = input.dims();
        for (position, &axis) in axes.iter().enumerate() {
            if axis >= dims.len() || axes[..position].contains(&axis) {
                return Err(Error::Axis { axis, rank: dims.len() });
            }
        }
        let (reduced, kept): (PerDimension<_>, PerDimension<_>) =
            (0..dims.len()).partition(|axis| axes.contains(axis));
        let short = kept.iter().map(|&axis| dims[axis]);
        let long = dims.iter().enumerate().map(|(axis, &dim)| if axes.contains(&axis) { 1 } else { dim });
        if !short.clone().eq(out.dims().iter().copied()) && !long.eq(out.dims().iter().copied()) {
            return Err(Error::Shape { expected: short.collect(), actual: out.dims().to_vec() });
        }
        Ok(Self { kept, reduced })
    }

    /// Reduces the dimensions along which one shape is broadcast to another.
    fn repeated(from: &[usize], to: &[usize]) -> Result<Self> {
        let refused = || Error::Broadcast { from: from.to_vec(), to: to.to_vec() };
        let new = to.len().checked_sub(from.len()).ok_or_else(refused)?;
        if std::iter::zip(from, &to[new..]).any(|(&from, &to)| from != to && from != 1) {
            return Err(refused());
        }
        let (kept, reduced) = (0..to.len()).partition(|&axis| axis >= new && from[axis - new] == to[axis]);
        Ok(Self { kept, reduced })
    }

    /// Rejects reductions of no elements.
    fn some(self, out: &ViewMut<'_>, input: &View<'_>) -> Result<Self> {
        if input.is_empty() && !out.is_empty() { Err(Error::Empty) } else { Ok(self) }
    }

    /// Returns the number of elements of the input that are reduced to one element of the output.
    fn reduced_len(&self, input: &View<'_>) -> usize {
        self.reduced.iter().map(|&axis| input.dims()[axis]).product()
    }

    /// Returns true if elements that are reduced together are closest in memory.
    fn reduces_neighbours(&self, input: &View<'_>) -> bool {
        let axes =
            (0..input.dims().len()).filter(|&axis| input.dims()[axis] > 1 && input.strides()[axis] != 0);
        let closest = axes.min_by_key(|&axis| input.strides()[axis].unsigned_abs());
        closest.is_none_or(|axis| self.reduced.contains(&axis))
    }
}

fn reduce<F: Fold>(out: &mut ViewMut<'_>, input: &View<'_>, axes: Axes) -> Result<()> {
    if input.dtype().is_float() {
        reduce_in::<F, f64>(out, input, axes, |value| value)
    } else {
        reduce_in::<F, Wrapping<i64>>(out, input, axes, |value| value)
    }
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
/// Returns false otherwise.
fn reduce_directly<F: Fold, T: Accumulator>(results: &mut [T], input: &View<'_>, axes: &Axes) -> bool {
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
                        *result = F::step(*result, value.load());
                    }
                    continue;
                }
                for (result, row) in results.iter_mut().zip(part.chunks_exact(len)) {
                    let value = match F::CHOOSES {
                        true => fold::<F, T::Stored, T::Stored>(
                            row,
                            #[inline(always)]
                            |&value| value,
                        )
                        .load(),
                        false => fold::<F, T::Stored, T>(
                            row,
                            #[inline(always)]
                            |&value| value.load(),
                        ),
                    };
                    *result = F::step(*result, value);
                }
            }
        },
    );
    true
}

fn reduce_in<F: Fold, T: Accumulator>(
    out: &mut ViewMut<'_>,
    input: &View<'_>,
    axes: Axes,
    finish: impl Fn(T) -> T,
) -> Result<()> {
    if let Some(dtype) = [input.dtype(), out.dtype()].into_iter().find(|dtype| dtype.is_complex()) {
        return Err(Error::Type { dtype });
    }
    if out.is_empty() {
        return Ok(());
    }
    // All results are computed before the first is written: the output may overlap elements that are still to
    // be read.
    let mut results = vec![F::start::<T>(); out.len()];
    if !input.is_empty() && !reduce_directly::<F, T>(&mut results, input, &axes) {
        let len = axes.reduced_len(input);
        let (kept, reduced) = (axes.kept.iter().copied(), axes.reduced.iter().copied());
        if axes.reduces_neighbours(input) {
            let mut reader = Reader::in_order(input, kept.chain(reduced))?;
            read_rows(&mut reader, results.len(), len, |row, _, part| {
                results[row] = F::step(results[row], fold::<F, T, T>(part, |value| *value));
            });
        } else {
            let mut reader = Reader::in_order(input, reduced.chain(kept))?;
            let width = results.len();
            read_rows(&mut reader, len, width, |_, start, part| {
                let results = results[start..].iter_mut().zip(part);
                results.for_each(|(result, &value)| *result = F::step(*result, value));
            });
        }
    }
    results.iter_mut().for_each(|result| *result = finish(*result));
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

/// Reduces contiguous elements.
#[inline(always)]
fn fold<F: Fold, S, T: Numeric>(values: &[S], load: impl Fn(&S) -> T) -> T {
    let (long_chunks, rest) = values.as_chunks::<MANY_LANES>();
    let (chunks, rest) = rest.as_chunks::<LANES>();
    let mut lanes = [F::start(); LANES];
    // Plain loops: the closure of an iterator may not be inlined.
    if !long_chunks.is_empty() {
        let mut many = [F::start(); MANY_LANES];
        for chunk in long_chunks {
            for n in 0..MANY_LANES {
                many[n] = F::step(many[n], load(&chunk[n]));
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
            lanes[n] = F::step(lanes[n], load(&chunk[n]));
        }
    }
    let mut result = in_pairs(lanes, F::step);
    for value in rest {
        result = F::step(result, load(value));
    }
    result
}
