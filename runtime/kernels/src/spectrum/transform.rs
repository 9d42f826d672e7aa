//! Discrete Fourier transforms along some dimensions, by the crate `rustfft`.
//!
//! Transforms of real signals are computed as complex ones. The gradient of a transform is the transform in the
//! other direction with the same factor.

use crate::attributes::{FftC2cAttributes, FftC2rAttributes, FftR2cAttributes};
use num_complex::Complex;
use rustfft::{FftDirection, FftNum, FftPlanner};

use crate::elements::accumulate::with_complex;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::loops::slices::{Slot, owned, write};
use crate::tensor::axis::axes as resolve;
use crate::tensor::{View, ViewMut};

/// The number of lines that are transformed at once, so that reading a column uses whole cache lines.
const LINES: usize = 16;

/// A transform along the last dimension of `axes`, and before or after it along the others.
struct Transform {
    axes: Vec<usize>,
    factor: f64,
    direction: FftDirection,
}

/// Elements with a shape.
struct Signal<T> {
    elements: Vec<Complex<T>>,
    dims: Vec<usize>,
}

/// Transforms a complex signal along some dimensions.
///
/// `normalization` says which direction has the factor `1 / n`: `backward`, `forward`, or `ortho` if both have its
/// square root. `n` is the number of elements along the dimensions.
///
/// # Errors
/// [`Error::Axis`], [`Error::Attribute`], [`Error::Shape`] and [`Error::Type`].
pub fn fft_c2c(out: &mut ViewMut<'_>, x: &View<'_>, with: &FftC2cAttributes<'_>) -> Result<()> {
    let FftC2cAttributes { axes, normalization, forward } = *with;
    let transform = Transform::new(x.dims(), axes, normalization, forward)?;
    transform.complex(out, x)
}

/// Computes the gradient of [`fft_c2c`] with respect to `x`.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_c2c_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &FftC2cAttributes<'_>) -> Result<()> {
    let FftC2cAttributes { axes, normalization, forward } = *with;
    let transform = Transform::new(dout.dims(), axes, normalization, forward)?;
    transform.reversed().complex(dx, dout)
}

/// Transforms a real signal along some dimensions, as [`fft_c2c`] does. With `onesided`, only the first
/// `n / 2 + 1` elements along the last of the dimensions are returned: the others are their conjugates.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_r2c(out: &mut ViewMut<'_>, x: &View<'_>, with: &FftR2cAttributes<'_>) -> Result<()> {
    let FftR2cAttributes { axes, normalization, forward, onesided } = *with;
    let transform = Transform::new(x.dims(), axes, normalization, forward)?;
    with_complex!(out.dtype(), T => {
        let values = transform.of_real::<T>(x, onesided)?;
        values.store(out)
    })
}

/// Computes the gradient of [`fft_r2c`] with respect to `x`.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_r2c_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &FftR2cAttributes<'_>) -> Result<()> {
    let FftR2cAttributes { axes, normalization, forward, onesided } = *with;
    let transform = Transform::new(dx.dims(), axes, normalization, forward)?.reversed();
    let last = transform.last();
    let len = if onesided { dx.dims()[last] / 2 + 1 } else { dx.dims()[last] };
    expect_shape(&with_length(dx.dims(), last, len), dout.dims())?;
    with_complex!(dout.dtype(), T => {
        let mut signal = Signal::<T>::load(dout)?;
        signal.resize(last, dx.dims()[last], |line, place| line.get(place).copied());
        transform.run(&mut signal, &transform.axes);
        signal.store_real(dx, transform.factor)
    })
}

/// Transforms a signal whose result is real. Along the last of the dimensions, `x` has the first half of the
/// signal; the other half is its conjugate. Imaginary parts of elements that are their own conjugates are ignored.
///
/// A `last_dim_size` of 0 stands for an even result.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_c2r(out: &mut ViewMut<'_>, x: &View<'_>, with: &FftC2rAttributes<'_>) -> Result<()> {
    let FftC2rAttributes { axes, normalization, forward, last_dim_size } = *with;
    let transform = Transform::new(out.dims(), axes, normalization, forward)?;
    let (last, rest) = (transform.last(), transform.rest());
    let len = out.dims()[last];
    if last_dim_size > 0 {
        crate::expect_length("last_dim_size", last_dim_size as usize, len)?;
    }
    expect_shape(&with_length(out.dims(), last, len / 2 + 1), x.dims())?;
    with_complex!(x.dtype(), T => {
        let mut signal = Signal::<T>::load(x)?;
        transform.run(&mut signal, rest);
        signal.resize(last, len, |half, place| {
            let opposite = (len - place) % len;
            match half.get(place) {
                Some(value) if opposite == place => Some(value.re.into()),
                Some(value) => Some(*value),
                None => Some(half[opposite].conj()),
            }
        });
        transform.run(&mut signal, &[last]);
        signal.store_real(out, transform.factor)
    })
}

/// Computes the gradient of [`fft_c2r`] with respect to `x`.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_c2r_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &FftC2rAttributes<'_>) -> Result<()> {
    let FftC2rAttributes { axes, normalization, forward, last_dim_size } = *with;
    let transform = Transform::new(dout.dims(), axes, normalization, forward)?.reversed();
    let last = transform.last();
    let len = dout.dims()[last];
    if last_dim_size > 0 {
        crate::expect_length("last_dim_size", last_dim_size as usize, len)?;
    }
    with_complex!(dx.dtype(), T => {
        let mut signal = transform.of_real::<T>(dout, true)?;
        // An element whose conjugate is not in `x` stands for both.
        let doubled = 1..len.div_ceil(2);
        signal.resize(last, len / 2 + 1, |half, place| {
            let value = half[place];
            Some(if doubled.contains(&place) { value + value } else { value })
        });
        signal.store(dx)
    })
}

impl Transform {
    /// Creates a transform of a signal whose longer side, if it is a real one, has these dimensions.
    fn new(dims: &[usize], axes: &[i64], normalization: &str, forward: bool) -> Result<Self> {
        let axes = resolve(axes, dims.len())?;
        if axes.is_empty() {
            return Err(Error::Attribute { name: "axes", value: "empty".to_owned() });
        }
        let count: f64 = axes.iter().map(|&axis| dims[axis] as f64).product();
        let factor = match normalization {
            "ortho" => 1.0 / count.sqrt(),
            "forward" if forward => 1.0 / count,
            "backward" | "" if !forward => 1.0 / count,
            "forward" | "backward" | "" => 1.0,
            other => return Err(Error::Attribute { name: "normalization", value: other.to_owned() }),
        };
        let direction = if forward { FftDirection::Forward } else { FftDirection::Inverse };
        Ok(Self { axes, factor, direction })
    }

    /// Returns the transform in the other direction with the same factor.
    fn reversed(self) -> Self {
        Self { direction: self.direction.opposite_direction(), ..self }
    }

    fn last(&self) -> usize {
        self.axes[self.axes.len() - 1]
    }

    fn rest(&self) -> &[usize] {
        &self.axes[..self.axes.len() - 1]
    }

    fn complex(&self, out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
        with_complex!(x.dtype(), T => {
            let mut signal = Signal::<T>::load(x)?;
            self.run(&mut signal, &self.axes);
            signal.scale(self.factor);
            signal.store(out)
        })
    }

    /// Transforms a real signal; with `onesided`, returns the first half along the last dimension.
    fn of_real<T: Part>(&self, x: &View<'_>, onesided: bool) -> Result<Signal<T>>
    where
        Complex<T>: Slot,
    {
        let elements = owned::<T>(x)?.into_iter().map(Complex::from).collect();
        let mut signal = Signal { elements, dims: x.dims().to_vec() };
        let last = self.last();
        self.run(&mut signal, &[last]);
        if onesided {
            signal.resize(last, x.dims()[last] / 2 + 1, |line, place| line.get(place).copied());
        }
        self.run(&mut signal, self.rest());
        signal.scale(self.factor);
        Ok(signal)
    }

    /// Transforms a signal along some dimensions, without the factor.
    fn run<T: FftNum>(&self, signal: &mut Signal<T>, axes: &[usize]) {
        if signal.elements.is_empty() {
            return;
        }
        let mut planner = FftPlanner::new();
        for &axis in axes {
            let len = signal.dims[axis];
            let inner: usize = signal.dims[axis + 1..].iter().product();
            let plan = planner.plan_fft(len, self.direction);
            if inner == 1 {
                plan.process(&mut signal.elements);
                continue;
            }
            let mut lines = vec![Complex::new(T::zero(), T::zero()); len * LINES.min(inner)];
            for block in signal.elements.chunks_exact_mut(len * inner) {
                for first in (0..inner).step_by(LINES) {
                    let columns = first..inner.min(first + LINES);
                    let lines = &mut lines[..len * columns.len()];
                    for (row, elements) in block.chunks_exact(inner).enumerate() {
                        for (line, &element) in elements[columns.clone()].iter().enumerate() {
                            lines[line * len + row] = element;
                        }
                    }
                    plan.process(lines);
                    for (row, elements) in block.chunks_exact_mut(inner).enumerate() {
                        for (line, element) in elements[columns.clone()].iter_mut().enumerate() {
                            *element = lines[line * len + row];
                        }
                    }
                }
            }
        }
    }
}

/// The type of the parts of a complex number.
trait Part: FftNum + Slot + Into<f64> {
    fn narrow(value: f64) -> Self;
}

impl Part for f32 {
    fn narrow(value: f64) -> Self {
        value as Self
    }
}

impl Part for f64 {
    fn narrow(value: f64) -> Self {
        value
    }
}

impl<T: Part> Signal<T>
where
    Complex<T>: Slot,
{
    fn load(x: &View<'_>) -> Result<Self> {
        Ok(Self { elements: owned(x)?, dims: x.dims().to_vec() })
    }

    fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            let factor = T::narrow(factor);
            self.elements.iter_mut().for_each(|value| *value = *value * factor);
        }
    }

    /// Changes the length of a dimension. The function gets a line along it, and the place of an element in the new
    /// line; `None` stands for zero.
    fn resize(
        &mut self,
        axis: usize,
        len: usize,
        element: impl Fn(&[Complex<T>], usize) -> Option<Complex<T>>,
    ) {
        let old = self.dims[axis];
        let inner: usize = self.dims[axis + 1..].iter().product();
        let outer: usize = self.dims[..axis].iter().product();
        let zero = Complex::new(T::zero(), T::zero());
        let mut resized = vec![zero; outer * len * inner];
        let mut line = vec![zero; old];
        for block in 0..outer {
            for column in 0..inner {
                for (place, value) in line.iter_mut().enumerate() {
                    *value = self.elements[(block * old + place) * inner + column];
                }
                for place in 0..len {
                    let value = element(&line, place).unwrap_or(zero);
                    resized[(block * len + place) * inner + column] = value;
                }
            }
        }
        self.elements = resized;
        self.dims[axis] = len;
    }

    fn store(self, out: &mut ViewMut<'_>) -> Result<()> {
        expect_shape(&self.dims, out.dims())?;
        if self.elements.is_empty() {
            movement::zero(out)
        } else {
            write::<Complex<T>>(out, |out| {
                out.copy_from_slice(&self.elements);
                Ok(())
            })
        }
    }

    /// Stores the real parts, multiplied by a factor.
    fn store_real(self, out: &mut ViewMut<'_>, factor: f64) -> Result<()> {
        expect_shape(&self.dims, out.dims())?;
        let factor = T::narrow(factor);
        write::<T>(out, |out| {
            for (out, value) in out.iter_mut().zip(&self.elements) {
                *out = value.re * factor;
            }
            Ok(())
        })
    }
}

fn with_length(dims: &[usize], axis: usize, len: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims[axis] = len;
    dims
}
