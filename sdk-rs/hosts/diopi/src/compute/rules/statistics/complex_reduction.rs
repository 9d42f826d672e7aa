//! Reductions of complex numbers, computed with their parts.

use tenon::device::Result;

use super::reduced::rows;
use crate::compute::number::Category;
use crate::compute::rules::elementwise::complex_numbers::{of_parts, part};
use crate::compute::rules::shared::fill;
use crate::compute::rules::terms::{add, choose, divide, multiply, subtract};
use crate::compute::{BOOL, Call, FLOAT, INTEGER, Method, Number, Tensor};

/// Returns true if the elements of a tensor are complex.
pub fn is_complex(tensor: &Tensor<'_>) -> bool {
    Category::of(tensor.data_type()) == Category::Complex
}

/// Returns the absolute values of complex numbers, and other numbers unchanged.
pub fn magnitudes<'c>(call: &'c Call, input: &Tensor<'c>) -> Result<Tensor<'c>> {
    if !is_complex(input) {
        return Ok(input.clone());
    }
    let [real, imaginary] = [part(input, 0)?, part(input, 1)?];
    call.formula(
        &Method::new("hypot", FLOAT),
        [(&real).into(), (&imaginary).into()],
        &mut |device, launch, out, [a, b]| device.hypot(launch, out, a, b),
    )
}

/// Writes the gradient of a function of absolute values: the gradient with respect to the absolute value, in
/// the direction of the number. It is 0 where the number is 0, as in PyTorch.
pub fn in_direction<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    gradient: &Tensor<'c>,
    input: &Tensor<'c>,
) -> Result<()> {
    let sizes = magnitudes(call, input)?;
    let is_zero = call.formula(
        &Method::new("equal", FLOAT | INTEGER | BOOL).yields_bool(),
        [(&sizes).into(), Number::Integer(0).into()],
        &mut |device, launch, out, [a, b]| device.equal(launch, out, a, b),
    )?;
    let [real, imaginary] = [0, 1].map(|number| {
        let quotient = divide(call, &part(input, number)?, &sizes)?;
        choose(call, &is_zero, Number::Float(0.0), &multiply(call, gradient, &quotient)?)
    });
    of_parts(call, out, &real?, &imaginary?)
}

/// Computes products over dimensions by repeatedly multiplying both halves.
pub fn product<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>, axes: &[usize]) -> Result<()> {
    let mut factors = rows(call, input, axes)?;
    let axis = factors.rank() - 1;
    let mut len = factors.dims()[axis];
    if len == 0 {
        return fill(call, out, Number::Integer(1));
    }
    while len > 1 {
        let half = len / 2;
        let [a, b] = [0, half].map(|start| factors.sliced(axis, start, half, 1));
        let (a, b) = (a?, b?);
        let mut dims = factors.dims().to_vec();
        dims[axis] = len - half;
        let products = call.temporary(factors.data_type(), &dims)?;
        multiply_complex(call, &products.sliced(axis, 0, half, 1)?, &a, &b)?;
        if len % 2 == 1 {
            let [last, rest] = [&products, &factors].map(|tensor| {
                let len = tensor.dims()[axis];
                tensor.sliced(axis, len - 1, 1, 1)
            });
            call.copy(&last?, &rest?)?;
        }
        factors = products;
        len -= half;
    }
    call.copy(out, &factors.selected(axis, 0)?)
}

fn multiply_complex<'c>(call: &'c Call, out: &Tensor<'c>, a: &Tensor<'c>, b: &Tensor<'c>) -> Result<()> {
    let (ar, ai) = (part(a, 0)?, part(a, 1)?);
    let (br, bi) = (part(b, 0)?, part(b, 1)?);
    let real = subtract(call, &multiply(call, &ar, &br)?, &multiply(call, &ai, &bi)?)?;
    let imaginary = add(call, &multiply(call, &ar, &bi)?, &multiply(call, &ai, &br)?)?;
    of_parts(call, out, &real, &imaginary)
}
