//! Rules that create complex numbers and read their parts. The parts are views of real numbers.

use tenon::device::Result;

use crate::compute::number::Category;
use crate::compute::rules::shared::in_steps;
use crate::compute::rules::{layout, terms};
use crate::compute::{Call, FLOAT, INTEGER, Method, Number, Tensor};

/// Returns a view of the real parts (0) or the imaginary parts (1).
pub fn part<'c>(tensor: &Tensor<'c>, number: usize) -> Result<Tensor<'c>> {
    tensor.as_pairs()?.selected(tensor.rank(), number)
}

/// Creates complex numbers from their parts.
pub(crate) fn of_parts<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    real: &Tensor<'c>,
    imaginary: &Tensor<'c>,
) -> Result<()> {
    in_steps(call, out, &[real, imaginary], |out| {
        call.copy(&part(out, 0)?, real)?;
        call.copy(&part(out, 1)?, imaginary)
    })
}

/// Creates complex numbers from magnitudes and angles.
pub(crate) fn of_angles<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    magnitude: &Tensor<'c>,
    angle: &Tensor<'c>,
) -> Result<()> {
    let cosines =
        call.formula(&Method::new("cos", FLOAT), [angle.into()], &mut |device, launch, out, [x]| {
            device.cos(launch, out, x)
        })?;
    let sines =
        call.formula(&Method::new("sin", FLOAT), [angle.into()], &mut |device, launch, out, [x]| {
            device.sin(launch, out, x)
        })?;
    let product = Method::new("multiply", FLOAT);
    let [real, imaginary] = [&cosines, &sines].map(|factor| {
        call.formula(&product, [magnitude.into(), factor.into()], &mut |device, launch, out, [a, b]| {
            device.multiply(launch, out, a, b)
        })
    });
    of_parts(call, out, &real?, &imaginary?)
}

/// Computes the complex conjugate. Real numbers stay unchanged.
pub(crate) fn conjugate<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>) -> Result<()> {
    if Category::of(input.data_type()) != Category::Complex {
        return layout::copy(call, out, input);
    }
    let imaginary = part(input, 1)?;
    let negated = call.formula(
        &Method::new("negative", FLOAT),
        [(&imaginary).into()],
        &mut |device, launch, out, [x]| device.negative(launch, out, x),
    )?;
    of_parts(call, out, &part(input, 0)?, &negated)
}

/// Divides numbers by their magnitudes; 0 stays 0. For real numbers this is the sign.
pub(crate) fn direction<'c>(call: &'c Call, out: &Tensor<'c>, input: &Tensor<'c>) -> Result<()> {
    if Category::of(input.data_type()) != Category::Complex {
        return call.write(
            &Method::new("sign", FLOAT | INTEGER),
            out,
            [input.into()],
            &mut |device, launch, out, [x]| device.sign(launch, out, x),
        );
    }
    let parts = [part(input, 0)?, part(input, 1)?];
    let [real, imaginary] = &parts;
    let magnitudes = call.formula(
        &Method::new("hypot", FLOAT),
        [real.into(), imaginary.into()],
        &mut |device, launch, out, [a, b]| device.hypot(launch, out, a, b),
    )?;
    let is_zero = terms::not(call, &magnitudes)?;
    let [real, imaginary] = parts.each_ref().map(|part| {
        terms::choose(call, &is_zero, Number::Float(0.0), &terms::divide(call, part, &magnitudes)?)
    });
    of_parts(call, out, &real?, &imaginary?)
}

/// Copies the real parts (0) or the imaginary parts (1).
pub(crate) fn copy_part<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    number: usize,
) -> Result<()> {
    match Category::of(input.data_type()) {
        Category::Complex => layout::copy(call, out, &part(input, number)?),
        // The real part of a real number is the number itself.
        _ if number == 0 => layout::copy(call, out, input),
        _ => part(input, number).map(drop),
    }
}
