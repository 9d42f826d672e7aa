//! Nodes that compute each element of their output from one element of each input.

use tenon::device::{DataType, Error, Result};
use tenon_operators::attributes::ScaleAttributes;
use tenon_operators::{Launch, Operators, TensorMut, TensorRef, broadcast};

use super::binary;
use crate::kernel::{Call, Compute, Info};

/// Computes a method of some inputs, which are broadcast.
pub(crate) fn elementwise<const N: usize>(
    work: impl Fn(&dyn Operators, Launch, &mut TensorMut<'_>, [&TensorRef<'_>; N]) -> Result<()>
    + Send
    + Sync
    + 'static,
) -> Result<Compute> {
    Ok(Box::new(move |call| {
        let inputs: [Result<TensorRef<'_>>; N] = std::array::from_fn(|index| call.input(index));
        if inputs.iter().any(Result::is_err) {
            return inputs.into_iter().find_map(Result::err).map_or(Ok(()), Err);
        }
        let inputs = inputs.each_ref().map(|input| input.as_ref().expect("there was no error"));
        let mut out = output_of(call, &inputs)?;
        call.run(|operators, launch| work(operators, launch, &mut out, inputs))
    }))
}

/// Allocates the first output, with the common shape of some tensors.
fn output_of<'c>(call: &'c Call<'_>, inputs: &[&TensorRef<'_>]) -> Result<TensorMut<'c>> {
    let (first, rest) = inputs.split_first().ok_or_else(|| Error::invalid("there are no inputs"))?;
    // This is the common case, and needs no list.
    if rest.iter().all(|input| fits(input.dims(), first.dims())) {
        return call.output(0, first.dims());
    }
    let dims =
        inputs.iter().try_fold(Vec::new(), |dims: Vec<usize>, input| broadcast(&dims, input.dims()))?;
    call.output(0, &dims)
}

/// Returns true if a tensor can be repeated to a shape.
fn fits(dims: &[usize], shape: &[usize]) -> bool {
    let Some(missing) = shape.len().checked_sub(dims.len()) else { return false };
    dims.iter().zip(&shape[missing..]).all(|(&dim, &wanted)| dim == wanted || dim == 1)
}

/// A method of two tensors.
type Binary = fn(&dyn Operators, Launch, &mut TensorMut<'_>, &TensorRef<'_>, &TensorRef<'_>) -> Result<()>;

/// Combines all inputs by a method, from the first one on.
pub(crate) fn fold(work: Binary) -> Result<Compute> {
    Ok(Box::new(move |call| {
        let inputs = call.all_inputs()?;
        let mut out = output_of(call, &inputs.iter().collect::<Vec<_>>())?;
        combine(call, &inputs, work, &mut out)
    }))
}

fn combine(call: &Call<'_>, inputs: &[TensorRef<'_>], work: Binary, out: &mut TensorMut<'_>) -> Result<()> {
    match inputs {
        [] => Err(Error::invalid("there are no inputs")),
        [one] => call.write(out, one),
        [one, other] => call.run(|operators, launch| work(operators, launch, out, one, other)),
        [rest @ .., last] => {
            let dims =
                rest.iter().try_fold(Vec::new(), |dims: Vec<usize>, input| broadcast(&dims, input.dims()))?;
            let mut before = call.temporary(last.data_type(), &dims)?;
            combine(call, rest, work, &mut before)?;
            let before = before.into_input();
            call.run(|operators, launch| work(operators, launch, out, &before, last))
        }
    }
}

/// The mean of all inputs.
pub(crate) fn mean(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let inputs = call.all_inputs()?;
        let mut out = output_of(call, &inputs.iter().collect::<Vec<_>>())?;
        let mut sum = call.temporary(out.data_type(), out.dims())?;
        combine(call, &inputs, binary!(add), &mut sum)?;
        let sum = sum.into_input();
        let scale = inputs.len() as f64;
        call.run(|operators, launch| operators.div_scale(launch, &mut out, &sum, scale))
    }))
}

/// Converts elements to the type of the output.
pub(crate) fn convert(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if out.data_type() == x.data_type() {
            return call.write(&mut out, &x);
        }
        call.run(|operators, launch| operators.cast(launch, &mut out, &x))
    }))
}

/// Returns the input.
pub(crate) fn identity(info: &Info) -> Result<Compute> {
    if info.inputs() > 2 {
        // The third input of `Dropout` is known in a call alone.
        return info.refuse("dropout in training");
    }
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        call.write(&mut out, &x)?;
        let Some(mut mask) = call.optional_output(1, x.dims())? else { return Ok(()) };
        let all = call.filled(mask.data_type(), x.dims(), 1.0)?;
        call.write(&mut mask, &all)
    }))
}

/// Divides; integers are rounded towards zero.
pub(crate) fn divide(_: &Info) -> Result<Compute> {
    elementwise(|operators, launch, out, [a, b]| {
        if is_float(a.data_type()) {
            operators.divide(launch, out, a, b)
        } else {
            operators.trunc_divide(launch, out, a, b)
        }
    })
}

/// The remainder, with the sign of the divisor or, with `fmod`, of the dividend.
pub(crate) fn modulus(info: &Info) -> Result<Compute> {
    let has_sign_of_dividend = info.flag("fmod");
    elementwise(move |operators, launch, out, [a, b]| {
        if has_sign_of_dividend {
            operators.fmod(launch, out, a, b)
        } else {
            operators.remainder(launch, out, a, b)
        }
    })
}

/// A power, in the wider of both types, and with the type of the base.
pub(crate) fn power(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let (base, exponent) = (call.input(0)?, call.input(1)?);
        let mut out = output_of(call, &[&base, &exponent])?;
        let ty = out.data_type();
        let pow = |base: &TensorRef<'_>, exponent: &TensorRef<'_>, out: &mut TensorMut<'_>| {
            call.run(|operators, launch| operators.elementwise_pow(launch, out, base, exponent))
        };
        if is_float(ty) || !is_float(exponent.data_type()) {
            return pow(&base, &call.cast(&exponent, ty)?, &mut out);
        }
        let wide = DataType::FLOAT64;
        let mut result = call.temporary(wide, out.dims())?;
        pow(&call.cast(&base, wide)?, &call.cast(&exponent, wide)?, &mut result)?;
        let result = result.into_input();
        call.run(|operators, launch| operators.cast(launch, &mut out, &result))
    }))
}

/// Limits elements by the second and the third input.
pub(crate) fn clip(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        if x.data_type() == DataType::INT64 {
            return clip_wide(call, &mut out, &x);
        }
        let limit = |index: usize| call.numbers(index).map(|numbers| numbers?.first().copied());
        match (limit(1)?, limit(2)?) {
            (None, None) => call.write(&mut out, &x),
            (lower, upper) => {
                let (lower, upper) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
                call.run(|operators, launch| operators.clip(launch, &mut out, &x, lower, upper))
            }
        }
    }))
}

/// Limits integers that a floating-point number may not hold.
fn clip_wide(call: &Call<'_>, out: &mut TensorMut<'_>, x: &TensorRef<'_>) -> Result<()> {
    let limit = |index: usize| {
        let number = call.integers(index)?.and_then(|numbers| numbers.first().copied());
        number.map(|number| call.upload_integers(&[], &[number])).transpose()
    };
    let x = match limit(1)? {
        Some(lower) => call.binary(x, &lower, binary!(maximum))?,
        None => x.clone(),
    };
    match limit(2)? {
        Some(upper) => call.run(|operators, launch| operators.minimum(launch, out, &x, &upper)),
        None => call.write(out, &x),
    }
}

/// Tells which elements are infinite.
pub(crate) fn is_inf(info: &Info) -> Result<Compute> {
    let negative = info.int("detect_negative").unwrap_or(1) != 0;
    let positive = info.int("detect_positive").unwrap_or(1) != 0;
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        let limit = match (negative, positive) {
            (true, true) => return call.run(|operators, launch| operators.is_inf(launch, &mut out, &x)),
            (false, false) => return call.write(&mut out, &call.filled(DataType::BOOL, x.dims(), 0.0)?),
            (true, false) => f64::NEG_INFINITY,
            (false, true) => f64::INFINITY,
        };
        let limit = call.filled(x.data_type(), &[], limit)?;
        call.run(|operators, launch| operators.equal(launch, &mut out, &x, &limit))
    }))
}

/// Shifts bits of unsigned integers.
pub(crate) fn bit_shift(info: &Info) -> Result<Compute> {
    let is_left = info.text("direction").as_deref() == Some("LEFT");
    elementwise(move |operators, launch, out, [a, b]| {
        if is_left {
            return operators.bitwise_left_shift(launch, out, a, b);
        }
        let bits = 8 * a.data_type().size().unwrap_or(8);
        operators.bitwise_right_shift_logical(launch, out, a, b, bits as f64)
    })
}

/// Moves elements towards zero, or sets them to zero.
pub(crate) fn shrink(info: &Info) -> Result<Compute> {
    let limit = info.float("lambd").unwrap_or(0.5);
    let bias = info.float("bias").unwrap_or(0.0);
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let ty = x.data_type();
        let mut out = call.output(0, x.dims())?;
        let is_above = call.compare(&x, &call.filled(ty, &[], limit)?, binary!(greater_than))?;
        let is_below = call.compare(&x, &call.filled(ty, &[], -limit)?, binary!(less_than))?;
        let moved = |bias| {
            let bias = call.filled(ty, &[], bias)?;
            call.binary(&x, &bias, binary!(add))
        };
        let (above, below) = (moved(-bias)?, moved(bias)?);
        let zero = call.filled(ty, x.dims(), 0.0)?;
        let mut rest = call.temporary(ty, x.dims())?;
        call.run(|operators, launch| operators.select(launch, &mut rest, &is_below, &below, &zero))?;
        let rest = rest.into_input();
        call.run(|operators, launch| operators.select(launch, &mut out, &is_above, &above, &rest))
    }))
}

/// The GELU, exact or by its approximation with the hyperbolic tangent.
pub(crate) fn gelu(info: &Info) -> Result<Compute> {
    let is_approximate = info.text("approximate").as_deref() == Some("tanh");
    elementwise(move |operators, launch, out, [x]| operators.gelu(launch, out, x, is_approximate))
}

/// The GELU of the sum of an input and a bias.
pub(crate) fn bias_gelu(_: &Info) -> Result<Compute> {
    sum_then_gelu(false)
}

/// The approximate GELU of an input and a bias that may be absent.
pub(crate) fn fast_gelu(_: &Info) -> Result<Compute> {
    sum_then_gelu(true)
}

fn sum_then_gelu(is_approximate: bool) -> Result<Compute> {
    Ok(Box::new(move |call| {
        let x = call.input(0)?;
        let mut out = call.output(0, x.dims())?;
        let x = match call.optional(1)? {
            None => x,
            Some(bias) => call.binary(&x, &bias, binary!(add))?,
        };
        call.run(|operators, launch| operators.gelu(launch, &mut out, &x, is_approximate))
    }))
}

/// `x * slope` for negative elements; the slope is broadcast to the input.
pub(crate) fn prelu(_: &Info) -> Result<Compute> {
    Ok(Box::new(|call| {
        let (x, slope) = (call.input(0)?, call.input(1)?);
        let mut out = call.output(0, x.dims())?;
        let slope = slope.expanded(x.dims())?;
        call.run(|operators, launch| operators.prelu(launch, &mut out, &x, &slope))
    }))
}

/// The input times a factor and plus a bias.
pub(crate) fn scaled(
    call: &Call<'_>,
    out: &mut TensorMut<'_>,
    x: &TensorRef<'_>,
    scale: f64,
    bias: f64,
) -> Result<()> {
    let attributes = ScaleAttributes { scale, bias, bias_after_scale: true };
    call.run(|operators, launch| operators.scale(launch, out, x, &attributes))
}

/// Returns true for types of floating-point numbers.
pub(crate) fn is_float(ty: DataType) -> bool {
    matches!(ty, DataType::FLOAT16 | DataType::BFLOAT16 | DataType::FLOAT32 | DataType::FLOAT64)
}
