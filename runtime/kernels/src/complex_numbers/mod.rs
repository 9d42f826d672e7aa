//! Elementwise operators of complex numbers, and conversions to and from their parts.
//!
//! Gradients are those of PaddlePaddle and PyTorch: the conjugates of what mathematicians call Wirtinger derivatives.

mod products;

use std::borrow::Cow;

use num_complex::Complex;

use crate::elements::accumulate::with_complex;
use crate::error::{Result, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, elements, owned, write};
use crate::reduction;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

pub use products::{complex_kron, complex_kron_grad, complex_matmul, complex_matmul_grad};

/// Computes absolute values.
///
/// # Errors
/// [`Error::Broadcast`](crate::Error::Broadcast) and [`Error::Type`](crate::Error::Type).
pub fn complex_abs(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| x.re.hypot(x.im)))
}

/// Computes the gradient of [`complex_abs`]; it is zero at zero.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_abs_grad(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map_both(dx, x, dout, |x: Complex<T>, dout: T| {
        let length = x.re.hypot(x.im);
        if length == 0.0 { Complex::EMPTY } else { x * (dout / length) }
    }))
}

/// Computes angles in radians.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_angle(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| x.im.atan2(x.re)))
}

/// Computes the gradient of [`complex_angle`]; it is zero at zero.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_angle_grad(dx: &mut ViewMut<'_>, x: &View<'_>, dout: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map_both(dx, x, dout, |x: Complex<T>, dout: T| {
        let square = x.re * x.re + x.im * x.im;
        if square == 0.0 { Complex::EMPTY } else { Complex::new(-x.im, x.re) * (dout / square) }
    }))
}

/// Computes complex conjugates; copies other numbers.
///
/// # Errors
/// As [`complex_abs`].
pub fn conj(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    if !x.dtype().is_complex() {
        return movement::copy(out, x);
    }
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| x.conj()))
}

/// Tests whether a part is NaN.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_is_nan(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| u8::from(x.re.is_nan() || x.im.is_nan())))
}

/// Tests whether a part is infinite.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_is_inf(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| {
        u8::from(x.re.is_infinite() || x.im.is_infinite())
    }))
}

/// Tests whether both parts are finite.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_is_finite(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| {
        u8::from(x.re.is_finite() && x.im.is_finite())
    }))
}

/// Copies the real parts.
///
/// # Errors
/// As [`complex_abs`].
pub fn real(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| x.re))
}

/// Computes the gradient of [`real`]: numbers without imaginary parts.
///
/// # Errors
/// As [`complex_abs`].
pub fn real_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    with_complex!(dx.dtype(), T => map(dx, dout, |dout: T| Complex::new(dout, 0.0)))
}

/// Copies the imaginary parts.
///
/// # Errors
/// As [`complex_abs`].
pub fn imag(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    with_complex!(x.dtype(), T => map(out, x, |x: Complex<T>| x.im))
}

/// Computes the gradient of [`imag`]: numbers without real parts.
///
/// # Errors
/// As [`complex_abs`].
pub fn imag_grad(dx: &mut ViewMut<'_>, dout: &View<'_>) -> Result<()> {
    with_complex!(dx.dtype(), T => map(dx, dout, |dout: T| Complex::new(0.0, dout)))
}

/// Makes complex numbers of real and imaginary parts, which are broadcast.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex(out: &mut ViewMut<'_>, real: &View<'_>, imag: &View<'_>) -> Result<()> {
    with_complex!(out.dtype(), T => map_both(out, real, imag, |re: T, im: T| Complex::new(re, im)))
}

/// Computes the gradients of [`complex`]: the parts of `dout`, summed over the dimensions along which an operand was
/// broadcast.
///
/// # Errors
/// As [`complex_abs`].
pub fn complex_grad(
    dreal: Option<&mut ViewMut<'_>>,
    dimag: Option<&mut ViewMut<'_>>,
    dout: &View<'_>,
) -> Result<()> {
    let sum = |gradient: Option<&mut ViewMut<'_>>, part: fn(&mut ViewMut<'_>, &View<'_>) -> Result<()>| {
        let Some(gradient) = gradient else { return Ok(()) };
        let mut whole = Buffer::new(gradient.dtype(), dout.dims())?;
        part(&mut whole.view_mut()?, dout)?;
        reduction::sum_to(gradient, &whole.view()?)
    };
    sum(dreal, real)?;
    sum(dimag, imag)
}

/// Makes complex numbers of the pairs along the last dimension.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) and [`Error::Type`](crate::Error::Type).
pub fn as_complex(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    expect_shape(&[out.dims(), &[2]].concat(), x.dims())?;
    with_complex!(out.dtype(), T => {
        let parts = owned::<T>(x)?;
        write::<Complex<T>>(out, |out| {
            for (out, parts) in out.iter_mut().zip(parts.chunks_exact(2)) {
                *out = Complex::new(parts[0], parts[1]);
            }
            Ok(())
        })
    })
}

/// Writes the parts of complex numbers along a new last dimension.
///
/// # Errors
/// As [`as_complex`].
pub fn as_real(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    expect_shape(&[x.dims(), &[2]].concat(), out.dims())?;
    with_complex!(x.dtype(), T => {
        let numbers = owned::<Complex<T>>(x)?;
        write::<T>(out, |out| {
            for (parts, number) in out.chunks_exact_mut(2).zip(&numbers) {
                parts.copy_from_slice(&[number.re, number.im]);
            }
            Ok(())
        })
    })
}

/// Returns the elements of an input, broadcast to the shape of an output, which may share memory with it.
fn operand<'v, T: Slot>(out: &ViewMut<'_>, x: &'v View<'_>) -> Result<Cow<'v, [T]>> {
    if out.dims() == x.dims() && !out.shares_memory(x) && T::converts(x.dtype()) {
        elements(x)
    } else {
        owned(&x.clone().expand(out.dims())?).map(Cow::Owned)
    }
}

fn map<X: Slot, Y: Slot>(out: &mut ViewMut<'_>, x: &View<'_>, function: impl Fn(X) -> Y) -> Result<()> {
    let x = operand(out, x)?;
    write(out, |out| {
        for (out, &x) in out.iter_mut().zip(x.iter()) {
            *out = function(x);
        }
        Ok(())
    })
}

fn map_both<X: Slot, Y: Slot, Z: Slot>(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    y: &View<'_>,
    function: impl Fn(X, Y) -> Z,
) -> Result<()> {
    let (x, y) = (operand(out, x)?, operand(out, y)?);
    write(out, |out| {
        for ((out, &x), &y) in out.iter_mut().zip(x.iter()).zip(y.iter()) {
            *out = function(x, y);
        }
        Ok(())
    })
}
