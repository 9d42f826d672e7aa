//! Reductions, running sums and sorting.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::{
    ArgmaxAttributes, CumprodAttributes, CumsumAttributes, SumAttributes, TopkAttributes,
};
use tenon_operators::{Launch, Operators, TensorMut, TensorRef};

use super::elementwise::is_float;
use super::shapes::{axes_of, axis_of, lengths};
use crate::kernel::{Call, Compute, Info};

/// A reduction of the device.
type Reduce =
    fn(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>, &SumAttributes<'_>) -> Result<()>;

/// A method of one tensor.
type Map = fn(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>) -> Result<()>;

/// What a node computes before and after a reduction.
struct Steps {
    before: Option<Map>,
    reduce: Reduce,
    after: Option<Map>,
    /// The result of no elements.
    start: f64,
    /// True for minima and maxima, which truth values have as integers.
    is_extremum: bool,
}

fn reduction(info: &Info, steps: Steps) -> Result<Compute> {
    let attribute = info.ints("axes");
    let keep_dim = info.int("keepdims").unwrap_or(1) != 0;
    let keeps_all = info.flag("noop_with_empty_axes");
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let rank = x.dims().len();
        let axes = match &attribute {
            Some(axes) => Some(axes.clone()),
            None => call.integers(1)?,
        };
        let axes = axes_of(&axes.unwrap_or_default(), rank)?;
        if axes.is_empty() && keeps_all {
            let mut out = call.output(0, x.dims())?;
            return map_last(call, &mut out, &x, steps.before, steps.after);
        }
        let axes: Vec<usize> = if axes.is_empty() { (0..rank).collect() } else { axes };
        let mut dims = Vec::with_capacity(rank);
        for (axis, dim) in x.dims().iter().enumerate() {
            match axes.contains(&axis) {
                false => dims.push(*dim),
                true if keep_dim => dims.push(1),
                true => {}
            }
        }
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if x.is_empty() {
            return nothing(call, &mut out, steps.start);
        }
        let x = match steps.before {
            Some(before) => call.unary(&x, before)?,
            None => x,
        };
        let is_bool = steps.is_extremum && x.data_type() == DataType::BOOL;
        let x = if is_bool { call.cast(&x, DataType::UINT8)? } else { x };
        let axis: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        let attributes = SumAttributes { axis: &axis, keep_dim, reduce_all: false };
        let reduce = |out: &mut TensorMut<'_>| {
            if rank == 0 {
                return call.write(out, &x);
            }
            call.run(|operators, launch| (steps.reduce)(operators, launch, out, &x, &attributes))
        };
        if is_bool {
            let mut bytes = call.temporary(DataType::UINT8, &dims)?;
            reduce(&mut bytes)?;
            let bytes = bytes.into_input();
            return call.run(|operators, launch| operators.cast(launch, &mut out, &bytes));
        }
        let Some(after) = steps.after else { return reduce(&mut out) };
        let mut reduced = call.temporary(x.data_type(), &dims)?;
        reduce(&mut reduced)?;
        let reduced = reduced.into_input();
        call.run(|operators, launch| after(operators, launch, &mut out, &reduced))
    }))
}

/// Computes the steps around a reduction over no dimension.
fn map_last(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    before: Option<Map>,
    after: Option<Map>,
) -> Result<()> {
    match (before, after) {
        (None, None) => call.write(out, x),
        (Some(map), None) | (None, Some(map)) => call.run(|operators, launch| map(operators, launch, out, x)),
        (Some(before), Some(after)) => {
            let mapped = call.unary(x, before)?;
            call.run(|operators, launch| after(operators, launch, out, &mapped))
        }
    }
}

/// Writes the result of a reduction of no elements.
fn nothing(call: &Call<'_>, out: &mut TensorMut<'_>, start: f64) -> Result<()> {
    let start = match out.data_type() {
        ty if is_float(ty) || start.is_finite() => start,
        // An integer type has no infinity: the outermost number instead.
        DataType::UINT8 => {
            if start > 0.0 {
                255.0
            } else {
                0.0
            }
        }
        DataType::BOOL => f64::from(start > 0.0),
        // The conversion saturates.
        _ => start,
    };
    call.write(out, &call.filled(out.data_type(), out.dims(), start)?)
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident($($before:ident)?; $reduce:ident; $($after:ident)?) = $start:expr, $is_extremum:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(info: &Info) -> Result<Compute> {
            reduction(info, Steps {
                before: reductions!(@ $($before)?),
                reduce: |operators, launch, out, x, attributes| operators.$reduce(launch, out, x, attributes),
                after: reductions!(@ $($after)?),
                start: $start,
                is_extremum: $is_extremum,
            })
        }
    )*};
    (@) => { None };
    (@ $map:ident) => { Some(|operators, launch, out, x| operators.$map(launch, out, x)) };
}
reductions! {
    /// The sum.
    sum(; sum; ) = 0.0, false;
    /// The mean.
    mean(; mean; ) = f64::NAN, false;
    /// The product.
    product(; prod; ) = 1.0, false;
    /// The largest element.
    maximum(; max; ) = f64::NEG_INFINITY, true;
    /// The smallest element.
    minimum(; min; ) = f64::INFINITY, true;
    /// The sum of the absolute values.
    l1(abs; sum; ) = 0.0, false;
    /// The root of the sum of the squares.
    l2(square; sum; sqrt) = 0.0, false;
    /// The sum of the squares.
    sum_of_squares(square; sum; ) = 0.0, false;
    /// The logarithm of the sum.
    log_of_sum(; sum; log) = f64::NEG_INFINITY, false;
    /// The logarithm of the sum of the exponentials.
    log_of_sum_of_exponentials(; logsumexp; ) = f64::NEG_INFINITY, false;
}

fn index_of_extremum(info: &Info, is_largest: bool) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(0);
    let keep_dim = info.int("keepdims").unwrap_or(1) != 0;
    let takes_last = info.flag("select_last_index");
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let index = x.dimension(axis)?;
        let mut dims = x.dims().to_vec();
        let len =
            *dims.get(index).ok_or_else(|| Error::invalid("a tensor without dimensions is not searched"))?;
        if keep_dim {
            dims[index] = 1;
        } else {
            dims.remove(index);
        }
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        if len == 0 {
            return Err(Error::invalid("a dimension without elements has no extremum"));
        }
        let attributes = ArgmaxAttributes { axis: index as i64, keep_dim, flatten: false };
        let find = |out: &mut TensorMut<'_>, x: &TensorRef<'_>| {
            call.run(|operators, launch| {
                if is_largest {
                    operators.argmax(launch, out, x, &attributes)
                } else {
                    operators.argmin(launch, out, x, &attributes)
                }
            })
        };
        if !takes_last {
            return find(&mut out, &x);
        }
        let mut reversed = call.temporary(x.data_type(), x.dims())?;
        call.run(|operators, launch| operators.flip(launch, &mut reversed, &x, &[index as i64]))?;
        let mut found = call.temporary(DataType::INT64, &dims)?;
        find(&mut found, &reversed.into_input())?;
        let found = found.into_input();
        let last = call.filled(DataType::INT64, &[], (len - 1) as f64)?;
        call.run(|operators, launch| operators.subtract(launch, &mut out, &last, &found))
    }))
}

/// The index of the largest element.
pub(crate) fn argmax(info: &Info) -> Result<Compute> {
    index_of_extremum(info, true)
}

/// The index of the smallest element.
pub(crate) fn argmin(info: &Info) -> Result<Compute> {
    index_of_extremum(info, false)
}

/// Returns the dimension that the second input names.
fn axis_input(call: &Call<'_>, rank: usize) -> Result<i64> {
    let axis = call.integers(1)?.unwrap_or_default();
    let [axis] = axis[..] else { return Err(Error::invalid("the dimension must be one number")) };
    axis_of(axis, rank).map(|axis| axis as i64)
}

/// Running sums.
pub(crate) fn cumsum(info: &Info) -> Result<Compute> {
    let (exclusive, reverse) = (info.flag("exclusive"), info.flag("reverse"));
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let axis = axis_input(call, x.dims().len())?;
        let mut out = call.output(0, x.dims())?;
        let attributes = CumsumAttributes { axis, flatten: false, exclusive, reverse };
        call.run(|operators, launch| operators.cumsum(launch, &mut out, &x, &attributes))
    }))
}

/// Running products.
pub(crate) fn cumprod(info: &Info) -> Result<Compute> {
    let (exclusive, reverse) = (info.flag("exclusive"), info.flag("reverse"));
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let axis = axis_input(call, x.dims().len())?;
        let mut out = call.output(0, x.dims())?;
        let attributes = CumprodAttributes { axis, exclusive, reverse };
        call.run(|operators, launch| operators.cumprod(launch, &mut out, &x, &attributes))
    }))
}

/// The largest or smallest elements along a dimension.
pub(crate) fn topk(info: &Info) -> Result<Compute> {
    let axis = info.int("axis").unwrap_or(-1);
    let largest = info.int("largest").unwrap_or(1) != 0;
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let index = x.dimension(axis)?;
        let count = lengths(&call.integers(1)?.unwrap_or_default())?;
        let [count] = count[..] else { return Err(Error::invalid("K must be one number")) };
        let mut dims = x.dims().to_vec();
        match dims.get_mut(index) {
            Some(len) if *len >= count => *len = count,
            _ => return Err(Error::invalid(format!("there are no {count} elements in {:?}", x.dims()))),
        }
        let mut values = call.output_or_temporary(0, x.data_type(), &dims)?;
        let mut places = call.output_or_temporary(1, DataType::INT64, &dims)?;
        if values.is_empty() {
            return Ok(());
        }
        let attributes = TopkAttributes { k: count as i64, axis: index as i64, largest };
        call.run(|operators, launch| operators.topk(launch, &mut values, &mut places, &x, &attributes))
    }))
}
