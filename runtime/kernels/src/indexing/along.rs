//! Elements at indices along a dimension, each selected individually.

use crate::attributes::PutAlongAxisAttributes;
use std::borrow::Cow;
use std::num::Wrapping;

use super::places::Places;
use super::rows::Rows;
use crate::elements::accumulate::{with_float, with_number};
use crate::error::{Error, Result, expect_shape};
use crate::loops::convert::Compute;
use crate::loops::movement::{self, with_word};
use crate::loops::slices::{Slot, elements, with_slices};
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// Takes the elements of `x` at indices along a dimension.
///
/// The output has the shape of the index, which may be shorter than `x` in the other dimensions.
///
/// # Errors
/// [`Error::Axis`], [`Error::Shape`], [`Error::Index`], [`Error::Type`] if types differ or indices are not integers.
pub fn take_along_axis(out: &mut ViewMut<'_>, x: &View<'_>, index: &View<'_>, axis: i64) -> Result<()> {
    if index.dims().is_empty() {
        return Places::each_along(x.dims(), index, axis)?.take(out, x);
    }
    let rows = Rows::new(x.dims(), index.dims(), axis)?;
    if index.dtype().is_float() || index.dtype().is_complex() {
        return Err(Error::Type { dtype: index.dtype() });
    }
    let numbers = if out.shares_memory(index) {
        Cow::Owned(Wrapping::<i64>::load(index)?)
    } else {
        elements::<Wrapping<i64>>(index)?
    };
    let numbers = bytemuck::cast_slice(&numbers);
    rows.check(numbers)?;
    expect_shape(index.dims(), out.dims())?;
    if out.dtype() != x.dtype() {
        return Err(Error::Type { dtype: x.dtype() });
    }
    with_word!(x.dtype(), W => {
        with_slices::<W, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            rows.take(out, x, numbers);
            Ok(())
        })
    })
}

/// Computes the gradient of [`take_along_axis`] with respect to `x`.
///
/// # Errors
/// As [`take_along_axis`], and [`Error::Type`] if a type is complex.
pub fn take_along_axis_grad(
    dx: &mut ViewMut<'_>,
    index: &View<'_>,
    dout: &View<'_>,
    axis: i64,
) -> Result<()> {
    Places::each_along(dx.dims(), index, axis)?.add(dx, None, dout, false)
}

/// The treatment of several values for the same element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduce {
    Assign,
    Add,
    Multiply,
    Smallest,
    Largest,
    Mean,
}

impl Reduce {
    fn of(name: &str) -> Result<Self> {
        Ok(match name {
            "assign" => Self::Assign,
            "add" => Self::Add,
            "mul" | "multiply" => Self::Multiply,
            "amin" => Self::Smallest,
            "amax" => Self::Largest,
            "mean" => Self::Mean,
            other => return Err(Error::Attribute { name: "reduce", value: other.to_owned() }),
        })
    }
}

/// A number that can be divided by a count to compute a mean.
trait Mean: Compute + Slot {
    fn over(self, count: usize) -> Self;
}

impl Mean for f32 {
    fn over(self, count: usize) -> Self {
        self / count as Self
    }
}

impl Mean for f64 {
    fn over(self, count: usize) -> Self {
        self / count as Self
    }
}

impl Mean for Wrapping<i64> {
    fn over(self, count: usize) -> Self {
        self.trunc_div(Self::of_integer(count as i64))
    }
}

/// Narrows the values along each dimension to the length of the index.
fn values_of<'v>(value: &View<'v>, index: &[usize]) -> Result<View<'v>> {
    if value.dims().len() != index.len() {
        return Err(Error::Shape { expected: index.to_vec(), actual: value.dims().to_vec() });
    }
    index.iter().enumerate().try_fold(value.clone(), |value, (axis, &len)| value.narrow(axis, 0, len))
}

/// Copies `x` and puts values at indices along a dimension.
///
/// The values are at least as long as the index; further values are ignored.
///
/// `reduce` selects how several values for an element are combined, including its old value if `include_self`
/// is set: `assign` (the last one), `add`, `mul`, `amin`, `amax` or `mean`.
///
/// # Errors
/// As [`take_along_axis`], and [`Error::Attribute`] for another value of `reduce`.
pub fn put_along_axis(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    index: &View<'_>,
    value: &View<'_>,
    with: &PutAlongAxisAttributes<'_>,
) -> Result<()> {
    let PutAlongAxisAttributes { axis, reduce, include_self } = *with;
    fn run<T: Mean>(
        out: ViewMut<'_>,
        [x, value]: [&View<'_>; 2],
        places: &[usize],
        reduce: Reduce,
        include_self: bool,
    ) -> Result<()> {
        with_slices::<T, 1, 2>([out], [x, value], |[out], [x, value]| {
            out.copy_from_slice(x);
            let mut counts = vec![usize::from(include_self); out.len()];
            for (&place, &value) in places.iter().zip(value) {
                let old = out[place];
                counts[place] += 1;
                out[place] = match reduce {
                    _ if counts[place] == 1 => value,
                    Reduce::Assign => value,
                    Reduce::Add | Reduce::Mean => old + value,
                    Reduce::Multiply => old * value,
                    Reduce::Smallest => old.min(value),
                    Reduce::Largest => old.max(value),
                };
            }
            if reduce == Reduce::Mean {
                let means = out.iter_mut().zip(counts).filter(|&(_, count)| count > 1);
                means.for_each(|(out, count)| *out = out.over(count));
            }
            Ok(())
        })
    }
    let places = Places::each_along(x.dims(), index, axis)?;
    let reduce = Reduce::of(reduce)?;
    expect_shape(x.dims(), out.dims())?;
    let value = &values_of(value, index.dims())?;
    if reduce == Reduce::Assign {
        return places.put(out, x, value);
    }
    with_number!(x.dtype(), T => run::<T>(out.reborrow(), [x, value], places.starts(), reduce, include_self))
}

/// Computes the gradients of [`put_along_axis`].
///
/// With `assign`, the last value receives `dout`. With `add`, each value receives `dout`. With `mul`, each
/// value receives `dout` times the other values. Equal extrema share `dout`, and so do all values of a mean.
/// Values that do not contribute have the gradient zero.
///
/// # Errors
/// As [`put_along_axis`], and [`Error::Type`] unless the gradients are floating-point.
pub fn put_along_axis_grad(
    dx: Option<&mut ViewMut<'_>>,
    dvalue: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    index: &View<'_>,
    value: &View<'_>,
    out: &View<'_>,
    dout: &View<'_>,
    with: &PutAlongAxisAttributes<'_>,
) -> Result<()> {
    let PutAlongAxisAttributes { axis, reduce, include_self } = *with;
    let places = Places::each_along(x.dims(), index, axis)?;
    let reduce = Reduce::of(reduce)?;
    expect_shape(x.dims(), out.dims())?;
    expect_shape(x.dims(), dout.dims())?;
    let values = values_of(value, index.dims())?;
    if !dout.dtype().is_float() {
        return Err(Error::Type { dtype: dout.dtype() });
    }
    let dims = x.dims().to_vec();
    let [x, value, out, dout] = [f64::load(x)?, f64::load(&values)?, f64::load(out)?, f64::load(dout)?];
    let starts = places.starts();
    let counts_self = include_self && reduce != Reduce::Assign;
    // The number of values that share an element's gradient, including the element itself.
    let takes_part = |place: usize, value: f64| match reduce {
        Reduce::Smallest | Reduce::Largest => value == out[place],
        _ => true,
    };
    let mut shares: Vec<usize> =
        (0..x.len()).map(|place| usize::from(counts_self && takes_part(place, x[place]))).collect();
    let mut last = vec![usize::MAX; x.len()];
    // The product of the nonzero values, and the number of zeros.
    let mut products: Vec<(f64, usize)> = vec![(1.0, 0); x.len()];
    let mut multiply = |place: usize, value: f64| {
        let (product, zeros) = &mut products[place];
        if value == 0.0 { *zeros += 1 } else { *product *= value }
    };
    (0..x.len()).filter(|_| counts_self).for_each(|place| multiply(place, x[place]));
    let mut chosen = vec![false; x.len()];
    for (n, (&place, &value)) in starts.iter().zip(&value).enumerate() {
        shares[place] += usize::from(takes_part(place, value));
        last[place] = n;
        chosen[place] = true;
        multiply(place, value);
    }
    let gradient = |place: usize, value: f64| match reduce {
        Reduce::Assign | Reduce::Add => dout[place],
        Reduce::Mean => dout[place] / shares[place] as f64,
        Reduce::Smallest | Reduce::Largest if takes_part(place, value) => dout[place] / shares[place] as f64,
        Reduce::Smallest | Reduce::Largest => 0.0,
        Reduce::Multiply => match products[place] {
            (product, 0) => dout[place] * (product / value),
            (product, 1) if value == 0.0 => dout[place] * product,
            _ => 0.0,
        },
    };
    if let Some(dvalue) = dvalue {
        movement::zero(dvalue)?;
        let mut dvalue = dvalue.reborrow();
        for (axis, &len) in index.dims().iter().enumerate() {
            dvalue = dvalue.narrow(axis, 0, len)?;
        }
        expect_shape(index.dims(), dvalue.dims())?;
        let parts = starts.iter().zip(&value).enumerate().map(|(n, (&place, &value))| {
            if reduce == Reduce::Assign && last[place] != n { 0.0 } else { gradient(place, value) }
        });
        store(&mut dvalue, &parts.collect::<Vec<_>>())?;
    }
    if let Some(dx) = dx {
        let parts = (0..x.len()).map(|place| match (chosen[place], counts_self) {
            (false, _) => dout[place],
            (true, false) => 0.0,
            (true, true) => gradient(place, x[place]),
        });
        expect_shape(&dims, dx.dims())?;
        store(dx, &parts.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn store(out: &mut ViewMut<'_>, values: &[f64]) -> Result<()> {
    with_float!(out.dtype(), T => {
        let values: Vec<T> = values.iter().map(|&value| value as T).collect();
        T::store(out, &values)
    })
}
