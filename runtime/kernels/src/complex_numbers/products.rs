//! Products of complex numbers, as real products of their parts.
//!
//! An operand may be real: it has imaginary parts of zero, and its gradient is the real part of what a complex one would
//! have.

use crate::complex_numbers::{complex, imag, real};
use crate::elements::dtype::DType;
use crate::error::{Error, Result};
use crate::loops::movement;
use crate::loops::slices::{elements, lend, write};
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};
use crate::{matmul, shape};

/// Multiplies matrices of complex numbers, as [`matmul::matmul`] those of real ones.
///
/// # Errors
/// As [`matmul::matmul`].
pub fn complex_matmul(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    transpose_x: bool,
    transpose_y: bool,
) -> Result<()> {
    product(out, x, y, |out, x, y| matmul::matmul(out, x, y, transpose_x, transpose_y))
}

/// Computes the gradients of [`complex_matmul`].
///
/// # Errors
/// As [`matmul::matmul_grad`].
pub fn complex_matmul_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
    transpose_x: bool,
    transpose_y: bool,
) -> Result<()> {
    gradients([lend(dx), lend(dy)], [x, y], dout, |[dx, dy], [x, y], dout| {
        matmul::matmul_grad(Some(dx), Some(dy), x, y, dout, transpose_x, transpose_y)
    })
}

/// Computes the Kronecker product of complex numbers, as [`shape::kron`] that of real ones.
///
/// # Errors
/// As [`shape::kron`].
pub fn complex_kron(out: &mut ViewMut<'_>, x: &View<'_>, y: &View<'_>) -> Result<()> {
    product(out, x, y, shape::kron)
}

/// Computes the gradients of [`complex_kron`].
///
/// # Errors
/// As [`shape::kron_grad`].
pub fn complex_kron_grad(
    dx: Option<&mut ViewMut<'_>>,
    dy: Option<&mut ViewMut<'_>>,
    x: &View<'_>,
    y: &View<'_>,
    dout: &View<'_>,
) -> Result<()> {
    gradients([lend(dx), lend(dy)], [x, y], dout, |[dx, dy], [x, y], dout| {
        shape::kron_grad(Some(dx), Some(dy), x, y, dout)
    })
}

/// The real and the imaginary parts of a tensor.
type Parts = [Buffer; 2];

fn parts(x: &View<'_>, part: DType) -> Result<Parts> {
    let (mut re, mut im) = (Buffer::new(part, x.dims())?, Buffer::new(part, x.dims())?);
    if x.dtype().is_complex() {
        real(&mut re.view_mut()?, x)?;
        imag(&mut im.view_mut()?, x)?;
    } else {
        movement::copy(&mut re.view_mut()?, x)?;
    }
    Ok([re, im])
}

/// Returns the type of the parts of complex numbers.
fn part_of(dtype: DType) -> Result<DType> {
    match dtype {
        DType::Complex64 => Ok(DType::F32),
        DType::Complex128 => Ok(DType::F64),
        dtype => Err(Error::Type { dtype }),
    }
}

/// Adds a buffer of real numbers to another, or subtracts it.
fn add(sum: &mut Buffer, other: &Buffer, sign: f64) -> Result<()> {
    let previous = sum.view()?;
    let previous = elements::<f64>(&previous)?.into_owned();
    let other = other.view()?;
    let other = elements::<f64>(&other)?;
    write::<f64>(&mut sum.view_mut()?, |sum| {
        for ((sum, previous), other) in sum.iter_mut().zip(previous).zip(other.iter()) {
            *sum = previous + sign * other;
        }
        Ok(())
    })
}

/// Computes `re x · re y - im x · im y` and `re x · im y + im x · re y`.
fn product(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    multiply: impl Fn(&mut ViewMut<'_>, &View<'_>, &View<'_>) -> Result<()>,
) -> Result<()> {
    let part = part_of(out.dtype())?;
    let (x, y) = (parts(x, part)?, parts(y, part)?);
    let dims = out.dims().to_vec();
    let term = |m: usize, n: usize| {
        let mut term = Buffer::new(part, &dims)?;
        multiply(&mut term.view_mut()?, &x[m].view()?, &y[n].view()?)?;
        Ok::<_, Error>(term)
    };
    let (mut re, mut im) = (term(0, 0)?, term(0, 1)?);
    add(&mut re, &term(1, 1)?, -1.0)?;
    add(&mut im, &term(1, 0)?, 1.0)?;
    complex(out, &re.view()?, &im.view()?)
}

/// Computes the gradients of [`product`]: that of an operand is `dout` times the conjugate of the other one.
fn gradients(
    outputs: [Option<ViewMut<'_>>; 2],
    operands: [&View<'_>; 2],
    dout: &View<'_>,
    multiply: impl Fn([&mut ViewMut<'_>; 2], [&View<'_>; 2], &View<'_>) -> Result<()>,
) -> Result<()> {
    let part = part_of(dout.dtype())?;
    let dims = operands.map(|operand| operand.dims().to_vec());
    let [x, y] = operands.map(|operand| parts(operand, part));
    let (x, y, dout) = (x?, y?, parts(dout, part)?);
    let terms = |operand: usize, gradient: usize| {
        let (mut dx, mut dy) = (Buffer::new(part, &dims[0])?, Buffer::new(part, &dims[1])?);
        let operands = [&x[operand].view()?, &y[operand].view()?];
        multiply([&mut dx.view_mut()?, &mut dy.view_mut()?], operands, &dout[gradient].view()?)?;
        Ok::<_, Error>([dx, dy])
    };
    let (real_parts, more) = (terms(0, 0)?, terms(1, 1)?);
    let (imaginary_parts, less) = (terms(0, 1)?, terms(1, 0)?);
    let sums = real_parts.into_iter().zip(more).zip(imaginary_parts.into_iter().zip(less));
    for (output, ((mut re, more), (mut im, less))) in outputs.into_iter().zip(sums) {
        let Some(mut output) = output else { continue };
        add(&mut re, &more, 1.0)?;
        if output.dtype().is_complex() {
            add(&mut im, &less, -1.0)?;
            complex(&mut output, &re.view()?, &im.view()?)?;
        } else {
            movement::copy(&mut output, &re.view()?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    const I: Complex<f64> = Complex::I;

    #[test]
    fn products_are_those_of_complex_numbers() {
        let x = [1.0 + I, 2.0 - I, -3.0 * I, 0.5 + 2.0 * I];
        let y = [2.0 * I, 4.0 + I];
        let mut out = [Complex::ZERO; 2];
        let [x_view, y_view] = [View::of_slice(&x, &[2, 2]).unwrap(), View::of_slice(&y, &[2]).unwrap()];
        complex_matmul(&mut ViewMut::of_slice(&mut out, &[2]).unwrap(), &x_view, &y_view, false, false)
            .unwrap();
        assert_eq!(out, [x[0] * y[0] + x[1] * y[1], x[2] * y[0] + x[3] * y[1]]);
    }

    #[test]
    fn a_real_operand_has_a_real_gradient() {
        let (x, y, dout) = ([2.0, -1.0], [3.0 + I], [1.0 + 4.0 * I, I]);
        let (mut dx, mut dy) = ([0.0; 2], [Complex::ZERO]);
        complex_kron_grad(
            Some(&mut ViewMut::of_slice(&mut dx, &[2]).unwrap()),
            Some(&mut ViewMut::of_slice(&mut dy, &[1]).unwrap()),
            &View::of_slice(&x, &[2]).unwrap(),
            &View::of_slice(&y, &[1]).unwrap(),
            &View::of_slice(&dout, &[2]).unwrap(),
        )
        .unwrap();
        assert_eq!(dx, dout.map(|dout| (dout * y[0].conj()).re));
        assert_eq!(dy, [dout[0] * x[0] + dout[1] * x[1]]);
    }

    #[test]
    fn real_results_are_refused() {
        let (x, mut out) = ([1.0], [0.0]);
        let x = View::of_slice(&x, &[1]).unwrap();
        let refused = complex_kron(&mut ViewMut::of_slice(&mut out, &[1]).unwrap(), &x, &x);
        assert_eq!(refused, Err(Error::Type { dtype: DType::F64 }));
    }
}
