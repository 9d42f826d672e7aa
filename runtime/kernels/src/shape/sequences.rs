//! Tensors that are computed from numbers only.

use crate::attributes::TrilIndicesAttributes;
use std::num::Wrapping;

use super::expect_type;
use crate::cast;
use crate::elements::dtype::DType;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, integers, scalar, store_integers};
use crate::tensor::{TensorMeta, View, ViewMut};

/// Sets all elements to a value, converted to the element type.
///
/// # Errors
/// [`Error::Type`] if elements are complex.
pub fn full(out: &mut ViewMut<'_>, value: f64) -> Result<()> {
    movement::fill(out, value)
}

fn expect_vector(out: &ViewMut<'_>) -> Result<usize> {
    match *out.dims() {
        [len] => Ok(len),
        _ => Err(Error::Rank { dims: out.dims().len(), strides: 1 }),
    }
}

/// Writes the numbers `start + n * step`.
///
/// The output determines how many numbers there are; frameworks compute its length from the end.
///
/// # Errors
/// [`Error::Rank`] unless the output has one dimension, [`Error::Type`] if elements are complex.
pub fn arange(out: &mut ViewMut<'_>, start: f64, step: f64) -> Result<()> {
    let len = expect_vector(out)?;
    if out.dtype().is_float() || out.dtype().is_complex() {
        return store(out, (0..len).map(|n| start + n as f64 * step));
    }
    // As in Paddle, the start and the step of integers are truncated.
    arange_of_integers(out, start as i64, step as i64)
}

fn arange_of_integers(out: &mut ViewMut<'_>, start: i64, step: i64) -> Result<()> {
    let (len, start, step) = (expect_vector(out)?, Wrapping(start), Wrapping(step));
    let values: Vec<i64> = (0..len as i64).map(|n| (start + Wrapping(n) * step).0).collect();
    store_integers(out, &values)
}

fn store(out: &mut ViewMut<'_>, values: impl Iterator<Item = f64>) -> Result<()> {
    f64::store(out, &values.collect::<Vec<_>>())
}

/// Writes equally spaced numbers from `start` to `stop`, both inclusive. Integers lose their fractions.
///
/// # Errors
/// As [`arange`].
pub fn linspace(out: &mut ViewMut<'_>, start: f64, stop: f64) -> Result<()> {
    let len = expect_vector(out)?;
    store(out, (0..len).map(|n| between(start, stop, n, len)))
}

/// Computes the number at a position, starting from the nearer end, so that both ends are exact.
fn between(start: f64, stop: f64, n: usize, len: usize) -> f64 {
    let step = (stop - start) / len.saturating_sub(1).max(1) as f64;
    if n < len.div_ceil(2) { start + step * n as f64 } else { stop - step * (len - 1 - n) as f64 }
}

/// Writes the powers of a base whose exponents are equally spaced from `start` to `stop`. Integers lose their
/// fractions.
///
/// # Errors
/// As [`arange`].
pub fn logspace(out: &mut ViewMut<'_>, start: f64, stop: f64, base: f64) -> Result<()> {
    let len = expect_vector(out)?;
    store(out, (0..len).map(|n| base.powf(between(start, stop, n, len))))
}

/// Returns the number of values of [`arange_tensor`]: from `start` (inclusive) to `end` (exclusive).
///
/// # Errors
/// As [`arange_tensor`].
pub fn arange_tensor_shape(start: &View<'_>, end: &View<'_>, step: &View<'_>) -> Result<Vec<usize>> {
    if let Some([first, last, way]) = whole([start, end, step])? {
        let refused = || Error::Attribute { name: "step", value: way.to_string() };
        let [first, last, way] = [first, last, way].map(i128::from);
        let distance = if way < 0 { first - last } else { last - first };
        let steps = distance.max(0).checked_add(way.abs() - 1).and_then(|sum| sum.checked_div(way.abs()));
        return Ok(vec![steps.and_then(|steps| usize::try_from(steps).ok()).ok_or_else(refused)?]);
    }
    let [first, last, way] = [scalar("start", start)?, scalar("end", end)?, scalar("step", step)?];
    if way == 0.0 || [first, last, way].iter().any(|number| !number.is_finite()) {
        return Err(Error::Attribute { name: "step", value: way.to_string() });
    }
    // Rounded as the elements are: a rounding error of the quotient must not add an element.
    let steps = match start.dtype() {
        dtype if dtype.is_float() && dtype != DType::F64 => {
            f64::from((last as f32 - first as f32) / way as f32)
        }
        _ => (last - first) / way,
    };
    Ok(vec![steps.ceil().max(0.0) as usize])
}

/// Writes numbers as [`arange`] does, with the arguments in one-element tensors.
///
/// If all are integers, the elements are computed without rounding.
///
/// # Errors
/// As [`arange`]; [`Error::Length`] unless the tensors have one element, [`Error::Attribute`] for a step of
/// zero and numbers that are not finite.
pub fn arange_tensor(out: &mut ViewMut<'_>, start: &View<'_>, end: &View<'_>, step: &View<'_>) -> Result<()> {
    expect_shape(&arange_tensor_shape(start, end, step)?, out.dims())?;
    match whole([start, end, step])? {
        Some([start, _, step]) if !out.dtype().is_float() && !out.dtype().is_complex() => {
            arange_of_integers(out, start, step)
        }
        _ => arange(out, scalar("start", start)?, scalar("step", step)?),
    }
}

/// Reads the numbers of three tensors if all of them are integers.
fn whole(numbers: [&View<'_>; 3]) -> Result<Option<[i64; 3]>> {
    if numbers.iter().any(|number| number.dtype().is_float() || number.dtype().is_complex()) {
        return Ok(None);
    }
    let mut found = [0; 3];
    for (found, (name, number)) in found.iter_mut().zip(["start", "end", "step"].into_iter().zip(numbers)) {
        crate::expect_length(name, 1, number.len())?;
        *found = integers(number)?[0];
    }
    Ok(Some(found))
}

fn count(number: &View<'_>) -> Result<Vec<usize>> {
    let value = scalar("number", number)?;
    let refused = || Error::Attribute { name: "number", value: value.to_string() };
    if value >= 0.0 && value.fract() == 0.0 { Ok(vec![value as usize]) } else { Err(refused()) }
}

/// Returns the number of values of [`linspace_tensor`].
///
/// # Errors
/// As [`linspace_tensor`].
pub fn linspace_tensor_shape(_: TensorMeta<'_>, _: TensorMeta<'_>, number: &View<'_>) -> Result<Vec<usize>> {
    count(number)
}

/// Writes numbers as [`linspace`] does, with the arguments in one-element tensors. The last one is the number
/// of values.
///
/// # Errors
/// As [`linspace`]; [`Error::Length`] unless the tensors have one element, [`Error::Attribute`] for a
/// negative `number`.
pub fn linspace_tensor(
    out: &mut ViewMut<'_>,
    start: &View<'_>,
    stop: &View<'_>,
    number: &View<'_>,
) -> Result<()> {
    expect_shape(&count(number)?, out.dims())?;
    linspace(out, scalar("start", start)?, scalar("stop", stop)?)
}

/// Returns the number of values of [`logspace_tensor`].
///
/// # Errors
/// As [`logspace_tensor`].
pub fn logspace_tensor_shape(
    _: TensorMeta<'_>,
    _: TensorMeta<'_>,
    number: &View<'_>,
    _: TensorMeta<'_>,
) -> Result<Vec<usize>> {
    count(number)
}

/// Writes numbers as [`logspace`] does, with the arguments in one-element tensors. The third one is the
/// number of values.
///
/// # Errors
/// As [`linspace_tensor`].
pub fn logspace_tensor(
    out: &mut ViewMut<'_>,
    start: &View<'_>,
    stop: &View<'_>,
    number: &View<'_>,
    base: &View<'_>,
) -> Result<()> {
    expect_shape(&count(number)?, out.dims())?;
    logspace(out, scalar("start", start)?, scalar("stop", stop)?, scalar("base", base)?)
}

/// Sets all elements to the number in a one-element tensor, converted to the element type.
///
/// # Errors
/// [`Error::Length`] unless the tensor has one element.
pub fn full_with_tensor(out: &mut ViewMut<'_>, value: &View<'_>) -> Result<()> {
    cast::cast(out, &value.clone().scalar("value")?.expand(out.dims())?)
}

/// Writes the gradient of an input that has no effect: zero.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`] if types differ.
pub fn zero_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    expect_type(dx, dout)?;
    expect_shape(dout.dims(), dx.dims())?;
    movement::zero(dx)
}

/// Writes the indices of a lower triangle, up to and including the `offset`-th diagonal above the main one:
/// rows, then columns.
///
/// # Errors
/// [`Error::Shape`] unless the output has two rows, one element in each for every index; [`Error::Attribute`]
/// for a negative size.
pub fn tril_indices(out: &mut ViewMut<'_>, with: &TrilIndicesAttributes) -> Result<()> {
    let TrilIndicesAttributes { rows, columns, offset } = *with;
    triangle(out, rows, columns, |row, column| column <= row.saturating_add(offset))
}

/// Writes the indices of an upper triangle, starting at the `offset`-th diagonal above the main one, as
/// [`tril_indices`] does.
///
/// # Errors
/// As [`tril_indices`].
pub fn triu_indices(out: &mut ViewMut<'_>, with: &TrilIndicesAttributes) -> Result<()> {
    let TrilIndicesAttributes { rows, columns, offset } = *with;
    triangle(out, rows, columns, |row, column| column >= row.saturating_add(offset))
}

fn triangle(out: &mut ViewMut<'_>, rows: i64, columns: i64, inside: impl Fn(i64, i64) -> bool) -> Result<()> {
    for (name, value) in [("rows", rows), ("columns", columns)] {
        if value < 0 {
            return Err(Error::Attribute { name, value: value.to_string() });
        }
    }
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let (first, second): (Vec<i64>, Vec<i64>) = all.filter(|&(row, column)| inside(row, column)).unzip();
    expect_shape(&[2, first.len()], out.dims())?;
    store_integers(out, &[first, second].concat())
}
