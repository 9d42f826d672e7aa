//! Short forms of operators with two or three operands, for rules that compute a formula.

use tenon::device::Result;
use tenon_operators::attributes::ScaleAttributes;

use crate::compute::rules::layout;
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Operand, Tensor};

macro_rules! terms {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),+): $types:expr;)+) => {$(
        $(#[$doc])*
        pub(super) fn $name<'c, 'o>(
            call: &'c Call,
            $($operand: impl Into<Operand<'o>>,)+
        ) -> Result<Tensor<'c>> {
            call.formula(
                &Method::new(stringify!($name), $types),
                [$($operand.into()),+],
                &mut |device, launch, out, [$($operand),+]| device.$name(launch, out, $($operand),+),
            )
        }
    )+};
}
terms! {
    /// Computes `a + b`.
    add(a, b): FLOAT | INTEGER | BOOL;
    /// Computes `a - b`.
    subtract(a, b): FLOAT | INTEGER;
    /// Computes `a * b`.
    multiply(a, b): FLOAT | INTEGER | BOOL;
    /// Computes `a / b`.
    divide(a, b): FLOAT;
    /// Computes the absolute value.
    abs(x): FLOAT;
    /// Computes the exponential function.
    exp(x): FLOAT;
    /// Computes the square root.
    sqrt(x): FLOAT;
    /// Computes `x / (1 + exp(-x))`.
    silu(x): FLOAT;
}

/// Computes `x * factor + summand`.
pub(super) fn scale<'c>(call: &'c Call, x: &Tensor<'_>, factor: f64, summand: f64) -> Result<Tensor<'c>> {
    call.formula(&Method::new("scale", FLOAT), [x.into()], &mut |device, launch, out, [x]| {
        device.scale(
            launch,
            out,
            x,
            &ScaleAttributes { scale: factor, bias: summand, bias_after_scale: true },
        )
    })
}

/// Computes `a + factor * b`.
pub(super) fn add_scaled<'c>(
    call: &'c Call,
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    factor: f64,
) -> Result<Tensor<'c>> {
    add(call, a, &scale(call, b, factor, 0.0)?)
}

/// Returns `a` where the condition is true, and `b` elsewhere.
pub(super) fn choose<'c, 'o>(
    call: &'c Call,
    condition: &Tensor<'_>,
    a: impl Into<Operand<'o>>,
    b: impl Into<Operand<'o>>,
) -> Result<Tensor<'c>> {
    call.formula(
        &Method::new("select", FLOAT | INTEGER | BOOL),
        [condition.into(), a.into(), b.into()],
        &mut |device, launch, out, [condition, a, b]| device.select(launch, out, condition, a, b),
    )
}

/// Returns true where elements are 0.
pub(super) fn not<'c>(call: &'c Call, x: &Tensor<'_>) -> Result<Tensor<'c>> {
    let method = Method::new("logical_not", FLOAT | INTEGER | BOOL).yields_bool();
    call.formula(&method, [x.into()], &mut |device, launch, out, [x]| device.logical_not(launch, out, x))
}

/// Returns a triangle of matrices, with zeros elsewhere.
pub(super) fn triangle<'c>(call: &'c Call, x: &Tensor<'c>, diagonal: i64, lower: bool) -> Result<Tensor<'c>> {
    let out = call.tensor_like(x)?;
    layout::triangle(call, &out, x, diagonal, lower)?;
    Ok(out)
}
