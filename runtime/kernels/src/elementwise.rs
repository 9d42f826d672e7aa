//! Operators that compute each element of the output from the elements of the inputs at the same position.
//!
//! ```
//! use tenon_kernels::numeric::Floating;
//! use tenon_kernels::{View, ViewMut, elementwise};
//!
//! fn each<T: Floating>(y: &mut [T], [x, scale]: [&[T]; 2]) {
//!     for (y, (&x, &scale)) in y.iter_mut().zip(x.iter().zip(scale)) {
//!         *y = scale * x.exp();
//!     }
//! }
//! let (x, scale, mut y) = ([0.0_f32, 1.0], [2.0_f32], [0.0_f32; 2]);
//! let inputs = [&View::of_slice(&x, &[2])?, &View::of_slice(&scale, &[1])?];
//! elementwise::float(&mut ViewMut::of_slice(&mut y, &[2])?, inputs, each::<f32>, each::<f64>)?;
//! assert_eq!(y, [2.0, 2.0 * 1.0_f32.exp()]);
//! # Ok::<(), tenon_kernels::Error>(())
//! ```
//!
//! Inputs are broadcast to the shape of the output by NumPy's rules. Any layout is supported. An input may
//! share memory with the output: the result is the same as for separate memory.
//!
//! The compute type follows from the inputs that are not booleans: `f64` if one of them is `float64`, `f32`
//! if one has another floating-point type, and otherwise `Wrapping<i64>`. Results are converted to the type
//! of the output: floats are rounded to nearest, ties to even; a conversion to an integer drops the fraction,
//! wraps values out of range, and turns NaN into 0; a boolean is true if the number is nonzero.
//!
//! Functions receive slices of the same length, and write the whole first slice. If all tensors are
//! contiguous, have the same shape and the compute type, and share no memory with the output, the slices are
//! the whole tensors, or parts of them on several [`threads`]. Otherwise they are rows, if all inputs have the
//! last dimensions of the output, or else tiles, and a function is called many times.

use std::num::Wrapping;

use smallvec::SmallVec;

use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::loops::convert::{Compute, Reader, TILE, Writer};
use crate::loops::operand::Operand;
use crate::loops::simd::wide;
use crate::tensor::{View, ViewMut};
use crate::threads;

/// The row length from which calling a function for each row is faster than repeating the row in a tile.
const SHORTEST_ROW: usize = 8;

/// The elements of the longest line of a cache, of which each thread has a multiple.
const LINE: usize = 64;

/// A compute type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Integer,
    Single,
    Double,
}

/// A function of tiles. It is passed by reference, so that its callers are compiled only once for each type
/// and number of inputs.
type Each<'f, T, const N: usize> = &'f (dyn Fn(&mut [T], [&[T]; N]) + Sync);

/// Computes an operator by a function `each::<T>(results, operands, attributes…)`, for each type that the engine has:
/// [`float`], [`numeric`] or [`whole`].
macro_rules! each_element {
    (float, $out:expr, $inputs:expr, $($each:tt)*) => {
        $crate::elementwise::float(
            $out,
            $inputs,
            // A function alone would be called through a shim, which the compiler does not inline into the loops for wide
            // vectors.
            #[inline(always)]
            |results, operands| each_element!(@call f32, results, operands, $($each)*),
            #[inline(always)]
            |results, operands| each_element!(@call f64, results, operands, $($each)*),
        )
    };
    (numeric, $out:expr, $inputs:expr, $($each:tt)*) => {
        $crate::elementwise::numeric(
            $out,
            $inputs,
            #[inline(always)]
            |results, operands| each_element!(@call ::std::num::Wrapping<i64>, results, operands, $($each)*),
            #[inline(always)]
            |results, operands| each_element!(@call f32, results, operands, $($each)*),
            #[inline(always)]
            |results, operands| each_element!(@call f64, results, operands, $($each)*),
        )
    };
    (whole, $out:expr, $inputs:expr, $($each:tt)*) => {
        $crate::elementwise::whole(
            $out,
            $inputs,
            #[inline(always)]
            |results, operands| each_element!(@call ::std::num::Wrapping<i64>, results, operands, $($each)*),
        )
    };
    (@call $type:ty, $results:ident, $operands:ident, $each:ident($($attribute:expr),* $(,)?)) => {
        $each::<$type>($results, $operands $(, $attribute)*)
    };
    (@call $type:ty, $results:ident, $operands:ident, if $choice:ident { $($yes:tt)* } else { $($no:tt)* }) => {
        if $choice {
            each_element!(@call $type, $results, $operands, $($yes)*)
        } else {
            each_element!(@call $type, $results, $operands, $($no)*)
        }
    };
}

pub(crate) use each_element;

/// Computes a floating-point operator. Without inputs, the type of the output determines the compute type.
///
/// # Errors
/// [`Error::Type`] if a type is complex or no input is a float, [`Error::Broadcast`].
pub fn float<const N: usize>(
    out: &mut ViewMut<'_>,
    inputs: [&View<'_>; N],
    f32s: impl Fn(&mut [f32], [&[f32]; N]) + Sync,
    f64s: impl Fn(&mut [f64], [&[f64]; N]) + Sync,
) -> Result<()> {
    match arithmetic(out, inputs)? {
        Arithmetic::Single => compute(out, inputs, &|out: &mut [_], inputs| {
            wide(
                #[inline(always)]
                || f32s(out, inputs),
            )
        }),
        Arithmetic::Double => compute(out, inputs, &|out: &mut [_], inputs| {
            wide(
                #[inline(always)]
                || f64s(out, inputs),
            )
        }),
        Arithmetic::Integer => Err(Error::Type { dtype: first_type(out, inputs) }),
    }
}

/// Computes an operator of numbers of any type. Without inputs, the type of the output determines the compute
/// type.
///
/// # Errors
/// [`Error::Type`] if a type is complex, [`Error::Broadcast`].
pub fn numeric<const N: usize>(
    out: &mut ViewMut<'_>,
    inputs: [&View<'_>; N],
    i64s: impl Fn(&mut [Wrapping<i64>], [&[Wrapping<i64>]; N]) + Sync,
    f32s: impl Fn(&mut [f32], [&[f32]; N]) + Sync,
    f64s: impl Fn(&mut [f64], [&[f64]; N]) + Sync,
) -> Result<()> {
    match arithmetic(out, inputs)? {
        Arithmetic::Single => compute(out, inputs, &|out: &mut [_], inputs| {
            wide(
                #[inline(always)]
                || f32s(out, inputs),
            )
        }),
        Arithmetic::Double => compute(out, inputs, &|out: &mut [_], inputs| {
            wide(
                #[inline(always)]
                || f64s(out, inputs),
            )
        }),
        Arithmetic::Integer => compute(out, inputs, &|out: &mut [_], inputs| {
            wide(
                #[inline(always)]
                || i64s(out, inputs),
            )
        }),
    }
}

/// Computes an operator of integers and booleans. Without inputs, the type of the output determines the
/// compute type.
///
/// If the inputs and the output are booleans, only the lowest bit of a result counts, so an operator that
/// inverts all bits of integers is the logical not of booleans.
///
/// # Errors
/// [`Error::Type`] if an input is not an integer or the output is complex, [`Error::Broadcast`].
pub fn whole<const N: usize>(
    out: &mut ViewMut<'_>,
    inputs: [&View<'_>; N],
    i64s: impl Fn(&mut [Wrapping<i64>], [&[Wrapping<i64>]; N]) + Sync,
) -> Result<()> {
    if arithmetic(out, inputs)? != Arithmetic::Integer {
        let float = types(out, inputs).find(|dtype| dtype.is_float());
        return Err(Error::Type { dtype: float.unwrap_or(out.dtype()) });
    }
    if out.dtype() == DType::Bool && types(out, inputs).all(|dtype| dtype == DType::Bool) {
        return compute(out, inputs, &|out: &mut [Wrapping<i64>], inputs| {
            wide(
                #[inline(always)]
                || i64s(out, inputs),
            );
            out.iter_mut().for_each(|value| *value &= 1);
        });
    }
    compute(out, inputs, &|out: &mut [_], inputs| {
        wide(
            #[inline(always)]
            || i64s(out, inputs),
        )
    })
}

/// Returns the types that determine the compute type: those of the inputs, or without inputs that of the
/// output.
fn types<'v, const N: usize>(
    out: &ViewMut<'_>,
    inputs: [&'v View<'_>; N],
) -> impl Iterator<Item = DType> + use<'v, N> {
    let output = (N == 0).then_some(out.dtype());
    inputs.into_iter().map(View::dtype).chain(output)
}

fn first_type<const N: usize>(out: &ViewMut<'_>, inputs: [&View<'_>; N]) -> DType {
    types(out, inputs).next().unwrap_or(out.dtype())
}

fn arithmetic<const N: usize>(out: &ViewMut<'_>, inputs: [&View<'_>; N]) -> Result<Arithmetic> {
    if let Some(dtype) = types(out, inputs).chain([out.dtype()]).find(|dtype| dtype.is_complex()) {
        return Err(Error::Type { dtype });
    }
    Ok(if types(out, inputs).any(|dtype| dtype == DType::F64) {
        Arithmetic::Double
    } else if types(out, inputs).any(DType::is_float) {
        Arithmetic::Single
    } else {
        Arithmetic::Integer
    })
}

/// Computes an operator in one compute type.
fn compute<T: Compute, const N: usize>(
    out: &mut ViewMut<'_>,
    inputs: [&View<'_>; N],
    each: Each<'_, T, N>,
) -> Result<()> {
    if let Some((out, inputs)) = out.slices(inputs) {
        let width = inputs.iter().map(|input| input.len()).min().unwrap_or(out.len());
        let operations = out.len() * threads::ELEMENT;
        if width == out.len() {
            threads::split(operations, out, LINE, |start, out| {
                each(out, inputs.map(|input| &input[start..][..out.len()]));
            });
            return Ok(());
        }
        if width >= SHORTEST_ROW {
            threads::split(operations, out, width, |start, out| {
                for (row, out) in out.chunks_exact_mut(width).enumerate() {
                    let start = start + row * width;
                    each(out, inputs.map(|input| &input[start % input.len()..][..width]));
                }
            });
            return Ok(());
        }
    }
    for input in inputs {
        input.broadcast_strides(out.dims())?;
    }
    if out.is_empty() {
        return Ok(());
    }
    let mut copies: [Vec<T>; N] = [const { Vec::new() }; N];
    for (copy, input) in copies.iter_mut().zip(inputs) {
        if out.overwrites(input) {
            *copy = packed(input)?;
        }
    }
    let mut operands: SmallVec<[Operand<'_, T>; 4]> = SmallVec::new();
    // An input in the memory of the output that has another type is read while the output is written.
    let is_converted = |input: &&View<'_>| input.dtype() != T::DTYPE && out.shares_memory(input);
    let is_slice = out.is_slice::<T>() && !inputs.iter().any(is_converted);
    for (copy, input) in copies.iter().zip(inputs) {
        operands.push(match copy.is_empty() {
            true if out.shares_memory(input) && is_slice => Operand::InPlace,
            true if out.shares_memory(input) => Operand::Read(Reader::new(input, out.dims())?),
            true => Operand::new(input, out.dims())?,
            false => Operand::new(&View::of_slice(copy, input.dims())?, out.dims())?,
        });
    }
    let mut tiles = [[T::of(0.0); TILE]; N];
    let total = out.len();
    if let Some(out) = out.slice_mut().filter(|_| is_slice) {
        for start in (0..total).step_by(TILE) {
            let len = TILE.min(total - start);
            let mut parts = [&[][..]; N];
            for ((operand, tile), part) in operands.iter_mut().zip(&mut tiles).zip(&mut parts) {
                *part = operand.load(start, Some(out), &mut tile[..len]);
            }
            each(&mut out[start..][..len], parts);
        }
        return Ok(());
    }
    let mut writer = Writer::new(out)?;
    let mut results = [T::of(0.0); TILE];
    for start in (0..total).step_by(TILE) {
        let len = TILE.min(total - start);
        let mut parts = [&[][..]; N];
        for ((operand, tile), part) in operands.iter_mut().zip(&mut tiles).zip(&mut parts) {
            *part = operand.load(start, None, &mut tile[..len]);
        }
        each(&mut results[..len], parts);
        writer.write(&results[..len]);
    }
    Ok(())
}

/// Reads the elements of a non-empty tensor in row-major order.
fn packed<T: Compute>(view: &View<'_>) -> Result<Vec<T>> {
    let mut elements = vec![T::of(0.0); view.len()];
    Reader::new(view, view.dims())?.read(&mut elements);
    Ok(elements)
}
