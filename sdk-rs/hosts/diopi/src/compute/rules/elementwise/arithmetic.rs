//! Rules for arithmetic with tensors and numbers.

use tenon::device::{Error, Result};

use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Operand, Tensor};
use crate::runtime::RoundMode;

const NUMBERS: u8 = FLOAT | INTEGER;

/// Multiplies a tensor by a number.
pub(crate) fn scaled<'c>(call: &'c Call, tensor: &'c Tensor<'c>, factor: Number) -> Result<Tensor<'c>> {
    if factor.to_f64() == 1.0 {
        return Ok(tensor.clone());
    }
    call.formula(&MULTIPLY, [tensor.into(), factor.into()], &mut |device, launch, out, [a, b]| {
        device.multiply(launch, out, a, b)
    })
}

const MULTIPLY: Method = Method::new("multiply", NUMBERS | BOOL);
const ADD: Method = Method::new("add", NUMBERS | BOOL);

/// Multiplies two numbers.
#[allow(clippy::unnecessary_wraps, reason = "as for the other rules")]
pub(crate) fn product(_: &Call, a: Number, b: Number) -> Result<Number> {
    Ok(match (a, b) {
        (Number::Float(_), _) | (_, Number::Float(_)) => Number::Float(a.to_f64() * b.to_f64()),
        _ => Number::Integer(a.to_i64().wrapping_mul(b.to_i64())),
    })
}

/// Divides with a rounding mode.
pub(crate) fn quotient<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    a: &'c Tensor<'c>,
    b: impl Into<Operand<'c>>,
    rounding: RoundMode,
) -> Result<()> {
    let operands = [a.into(), b.into()];
    match rounding {
        RoundMode::NONE => {
            call.write(&Method::new("divide", FLOAT), out, operands, &mut |device, launch, out, [a, b]| {
                device.divide(launch, out, a, b)
            })
        }
        RoundMode::TRUNC => call.write(
            &Method::new("trunc_divide", NUMBERS),
            out,
            operands,
            &mut |device, launch, out, [a, b]| device.trunc_divide(launch, out, a, b),
        ),
        RoundMode::FLOOR => call.write(
            &Method::new("floor_divide", NUMBERS),
            out,
            operands,
            &mut |device, launch, out, [a, b]| device.floor_divide(launch, out, a, b),
        ),
        other => Err(Error::invalid(format!("`rounding_mode` is {other:?}"))),
    }
}

/// Limits elements to a lower and an upper bound, one of which may be absent.
pub(crate) fn clamped<'c, B: Into<Operand<'c>>>(
    call: &'c Call,
    out: &Tensor<'c>,
    tensor: &'c Tensor<'c>,
    lower: Option<B>,
    upper: Option<B>,
) -> Result<()> {
    const MAXIMUM: Method = Method::new("maximum", NUMBERS);
    const MINIMUM: Method = Method::new("minimum", NUMBERS);
    match (lower, upper) {
        (None, None) => Err(Error::invalid("`min` and `max` are both null")),
        (Some(lower), None) => {
            call.write(&MAXIMUM, out, [tensor.into(), lower.into()], &mut |device, launch, out, [a, b]| {
                device.maximum(launch, out, a, b)
            })
        }
        (None, Some(upper)) => {
            call.write(&MINIMUM, out, [tensor.into(), upper.into()], &mut |device, launch, out, [a, b]| {
                device.minimum(launch, out, a, b)
            })
        }
        (Some(lower), Some(upper)) => {
            let raised =
                call.formula(&MAXIMUM, [tensor.into(), lower.into()], &mut |device, launch, out, [a, b]| {
                    device.maximum(launch, out, a, b)
                })?;
            let upper: Operand<'c> = upper.into();
            call.write(&MINIMUM, out, [(&raised).into(), upper], &mut |device, launch, out, [a, b]| {
                device.minimum(launch, out, a, b)
            })
        }
    }
}

/// Rounds down. Integers stay unchanged.
pub(crate) fn floor<'c>(call: &'c Call, out: &Tensor<'c>, tensor: &'c Tensor<'c>) -> Result<()> {
    if tensor.is_whole() {
        return call.copy(out, tensor);
    }
    call.write(&Method::new("floor", FLOAT), out, [tensor.into()], &mut |device, launch, out, [x]| {
        device.floor(launch, out, x)
    })
}

/// Rounds up. Integers stay unchanged.
pub(crate) fn ceil<'c>(call: &'c Call, out: &Tensor<'c>, tensor: &'c Tensor<'c>) -> Result<()> {
    if tensor.is_whole() {
        return call.copy(out, tensor);
    }
    call.write(&Method::new("ceil", FLOAT), out, [tensor.into()], &mut |device, launch, out, [x]| {
        device.ceil(launch, out, x)
    })
}

/// Adds an operand to each tensor of a list.
pub(crate) fn add_to_each<'c>(
    call: &'c Call,
    outs: &[Tensor<'c>],
    tensors: &'c [Tensor<'c>],
    other: impl Into<Operand<'c>>,
) -> Result<()> {
    let other = other.into();
    outs.iter().zip(tensors).try_for_each(|(out, tensor)| {
        call.write(&ADD, out, [tensor.into(), other], &mut |device, launch, out, [a, b]| {
            device.add(launch, out, a, b)
        })
    })
}

/// Multiplies each tensor of a list by an operand.
pub(crate) fn multiply_each<'c>(
    call: &'c Call,
    outs: &[Tensor<'c>],
    tensors: &'c [Tensor<'c>],
    other: impl Into<Operand<'c>>,
) -> Result<()> {
    let other = other.into();
    outs.iter().zip(tensors).try_for_each(|(out, tensor)| {
        call.write(&MULTIPLY, out, [tensor.into(), other], &mut |device, launch, out, [a, b]| {
            device.multiply(launch, out, a, b)
        })
    })
}

/// Returns true if the text selects the tanh approximation of `gelu`.
pub(crate) fn is_tanh(_: &Call, approximate: &str) -> Result<bool> {
    match approximate {
        "tanh" => Ok(true),
        "none" => Ok(false),
        other => Err(Error::invalid(format!("`approximate` is neither `none` nor `tanh`: `{other}`"))),
    }
}

/// Returns true if two tensors have the same shape and the same elements. Waits for the result.
pub(crate) fn equal<'c>(call: &'c Call, out: &mut bool, a: &'c Tensor<'c>, b: &'c Tensor<'c>) -> Result<()> {
    if a.dims() != b.dims() {
        *out = false;
        return Ok(());
    }
    let equal = call.formula(
        &Method::new("equal", NUMBERS | BOOL).yields_bool(),
        [a.into(), b.into()],
        &mut |device, launch, out, [a, b]| device.equal(launch, out, a, b),
    )?;
    *out = call.download(&equal)?.iter().all(|&byte| byte != 0);
    Ok(())
}
