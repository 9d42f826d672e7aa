//! Numbers as bytes with a scale and a zero point.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::SumAttributes;
use tenon_operators::{TensorMut, TensorRef};

use super::convolution::{Windows, convolution_dims, convolve};
use super::elementwise::{is_float, scaled};
use super::products::{multiply, product_dims, shifted};
use super::{binary, unary};
use crate::kernel::{Call, Compute, Info};

/// Returns a list of numbers for the indices of a dimension as a tensor that can be broadcast; a single number as it is.
fn along<'t>(numbers: &TensorRef<'t>, dims: &[usize], axis: i64) -> Result<TensorRef<'t>> {
    match numbers.dims() {
        [] | [1] => numbers.reshaped(&[]),
        &[len] => {
            let mut shape = vec![1; dims.len()];
            let index = super::shapes::axis_of(axis, dims.len())?;
            shape[index] = len;
            numbers.reshaped(&shape)
        }
        _ => Err(Error::unsupported("scales of blocks")),
    }
}

/// Refuses blocks, which have scales of their own.
fn without_blocks(info: &Info) -> Result<i64> {
    if info.int("block_size").unwrap_or(0) != 0 {
        return info.refuse("scales of blocks");
    }
    Ok(info.int("axis").unwrap_or(1))
}

/// Returns the least and the largest number of a type of bytes.
fn limits(ty: DataType) -> Result<(f64, f64)> {
    match ty {
        DataType::UINT8 => Ok((0.0, 255.0)),
        DataType::INT8 => Ok((-128.0, 127.0)),
        other => Err(Error::unsupported(&format!("numbers as {other:?}"))),
    }
}

/// Writes numbers as bytes: rounds to the nearest, halves to the even one, adds the zero point, and limits.
fn store(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    zero: Option<&TensorRef<'_>>,
) -> Result<()> {
    let (lower, upper) = limits(out.data_type())?;
    let mut rounded = call.unary(x, |operators, launch, out, x| operators.round(launch, out, x, 0.0))?;
    if let Some(zero) = zero {
        let zero = call.cast(zero, x.data_type())?;
        rounded = call.binary(&rounded, &zero, binary!(add))?;
    }
    let limited =
        call.unary(&rounded, |operators, launch, out, x| operators.clip(launch, out, x, lower, upper))?;
    call.run(|operators, launch| operators.cast(launch, out, &limited))
}

/// `round(x / scale) + zero`.
pub(crate) fn quantize(info: &Info) -> Result<Compute> {
    let axis = without_blocks(info)?;
    if info.int("precision").unwrap_or(0) != 0 {
        return info.refuse("another precision");
    }
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let wide = if is_float(x.data_type()) { x.data_type() } else { DataType::FLOAT32 };
        let scale = along(&call.cast(&call.input(1)?, wide)?, x.dims(), axis)?;
        let zero = call.optional(2)?.map(|zero| along(&zero, x.dims(), axis)).transpose()?;
        let x = call.cast(&x, wide)?;
        let quotient = call.binary(&x, &scale, binary!(divide))?;
        store(call, &mut out, &quotient, zero.as_ref())
    }))
}

/// `(x - zero) * scale`.
pub(crate) fn dequantize(info: &Info) -> Result<Compute> {
    let axis = without_blocks(info)?;
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.is_empty() {
            return Ok(());
        }
        let zero = call.optional(2)?.map(|zero| along(&zero, x.dims(), axis)).transpose()?;
        let ty = out.data_type();
        let centred = call.cast(&shifted(call, &x, zero, false)?, ty)?;
        let scale = along(&call.cast(&call.input(1)?, ty)?, x.dims(), axis)?;
        call.run(|operators, launch| operators.multiply(launch, &mut out, &centred, &scale))
    }))
}

/// Bytes with a scale and a zero point that the numbers decide: zero is exact, and the outermost numbers are 0 or 255.
pub(crate) fn dynamic_quantize(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        let (mut scale, mut zero) = (call.output(1, &[])?, call.output(2, &[])?);
        if x.is_empty() {
            return Err(Error::invalid("there are no numbers"));
        }
        let ty = x.data_type();
        let flat = x.reshaped(&[x.len()])?;
        let none = call.filled(ty, &[], 0.0)?;
        let attributes = SumAttributes { axis: &[0], keep_dim: false, reduce_all: true };
        let (mut least, mut largest) = (call.temporary(ty, &[])?, call.temporary(ty, &[])?);
        call.run(|operators, launch| operators.min(launch, &mut least, &flat, &attributes))?;
        call.run(|operators, launch| operators.max(launch, &mut largest, &flat, &attributes))?;
        let least = call.binary(&least.into_input(), &none, binary!(minimum))?;
        let largest = call.binary(&largest.into_input(), &none, binary!(maximum))?;
        let width = call.binary(&largest, &least, binary!(subtract))?;
        scaled(call, &mut scale, &width, 1.0 / 255.0, 0.0)?;
        let scale = scale.as_input();
        let place = call.binary(&least, &scale, binary!(divide))?;
        let place = call.unary(&place, unary!(negative))?;
        store(call, &mut zero, &place, None)?;
        let quotient = call.binary(&x, &scale, binary!(divide))?;
        store(call, &mut out, &quotient, Some(&zero.as_input()))
    }))
}

/// A product of matrices of bytes, as bytes.
pub(crate) fn qlinear_matmul(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let (a, b) = (call.input(0)?, call.input(3)?);
        let mut out = call.output(0, &product_dims(a.dims(), b.dims())?)?;
        if out.is_empty() {
            return Ok(());
        }
        let (left, right) =
            (shifted(call, &a, call.optional(2)?, true)?, shifted(call, &b, call.optional(5)?, false)?);
        let mut sum = call.temporary(DataType::INT32, out.dims())?;
        multiply(call, &mut sum, &left, &right)?;
        let sum = call.cast(&sum.into_input(), DataType::FLOAT32)?;
        let wide = |index| call.cast(&call.input(index)?, DataType::FLOAT32);
        let (mut a_scale, b_scale, y_scale) = (wide(1)?, wide(4)?, wide(6)?);
        if a_scale.dims().len() == 1 && a_scale.len() > 1 {
            a_scale = a_scale.unsqueezed(1)?;
        }
        let scale = call.binary(&a_scale, &b_scale, binary!(multiply))?;
        let scale = call.binary(&scale, &y_scale, binary!(divide))?;
        let product = call.binary(&sum, &scale, binary!(multiply))?;
        store(call, &mut out, &product, call.optional(7)?.as_ref())
    }))
}

/// A convolution of bytes, as bytes. The bias counts products of the scales of its operands.
pub(crate) fn qlinear_conv(info: &Info) -> Result<Compute> {
    let windows = Windows::of(info)?;
    let groups = info.int("group").unwrap_or(1);
    Ok(Box::new(move |call| {
        let (x, filter) = (call.input(0)?, call.input(3)?);
        let (dims, placed) = convolution_dims(&windows, &x, &filter, groups)?;
        let mut out = call.output(0, &dims)?;
        if out.is_empty() {
            return Ok(());
        }
        // Sums of products of bytes are exact in double.
        let wide = DataType::FLOAT64;
        let x = call.cast(&shifted(call, &x, call.optional(2)?, false)?, wide)?;
        let filters = call.kept(&[3, 5], || {
            let zero = call.optional(5)?.map(|zero| along(&zero, filter.dims(), 0)).transpose()?;
            Ok(vec![call.cast(&shifted(call, &filter, zero, false)?, wide)?])
        })?;
        let mut sum = call.temporary(wide, &dims)?;
        let bias = call.optional(8)?.map(|bias| call.cast(&bias, wide)).transpose()?;
        convolve(call, &mut sum, &x, &filters[0], bias.as_ref(), &placed, groups)?;
        let number = |index| call.cast(&call.input(index)?, DataType::FLOAT32);
        let scale = call.binary(&number(1)?, &number(4)?, binary!(multiply))?;
        let scale = along(&call.binary(&scale, &number(6)?, binary!(divide))?, &dims, 1)?;
        let sum = call.cast(&sum.into_input(), DataType::FLOAT32)?;
        let product = call.binary(&sum, &scale, binary!(multiply))?;
        store(call, &mut out, &product, call.optional(7)?.as_ref())
    }))
}
