//! Conversions between element types, and between element types and compute types.

use std::convert::identity;
use std::num::Wrapping;

use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

use crate::elements::accumulate::with_number;
use crate::elements::dtype::DType;
use crate::elements::element::{Bool, FromNumber, Number};
use crate::error::{Error, Result};
use crate::formulas;
use crate::loops::convert::convert_directly;
use crate::tensor::{View, ViewMut};

/// Casts each element to the element type of the output. The output has the shape of the input and may share
/// its memory.
///
/// Numbers are converted as in [`elementwise`](crate::elementwise). A real number becomes a complex number
/// with the imaginary part 0. A complex number loses its imaginary part; converted to a boolean, it is true
/// if either part is nonzero.
///
/// # Errors
/// [`Error::Shape`].
pub fn cast(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    if out.dims() != x.dims() {
        return Err(Error::Shape { expected: x.dims().to_vec(), actual: out.dims().to_vec() });
    }
    if out.is_empty() {
        return Ok(());
    }
    if !x.dtype().is_complex() && !out.dtype().is_complex() {
        return if with_number!(x.dtype(), T => convert_directly::<T>(out, x))? {
            Ok(())
        } else {
            formulas::elementary::copy(out, x)
        };
    }
    // All elements are read before any is written: the two tensors may share memory.
    let mut numbers = Vec::with_capacity(x.len());
    let base = x.base().cast_const();
    x.walk(x.dims())?.rows(|start, row| {
        // SAFETY: the walk visits elements of the view, which are live and initialised.
        row.each(start, |[at]| numbers.push(unsafe { load_number(x.dtype(), base, at) }));
    });
    let (base, dtype, mut numbers) = (out.base(), out.dtype(), numbers.into_iter());
    out.walk().rows(|start, row| {
        row.each(start, |[at]| {
            // SAFETY: the walk visits elements of the view, which is borrowed exclusively.
            numbers.next().into_iter().for_each(|number| unsafe { store_number(dtype, base, at, number) });
        });
    });
    Ok(())
}

macro_rules! numbers {
    ($($dtype:ident: $element:ty, |$value:ident| $number:expr;)*) => {
        /// Loads an element of the given type as a number.
        ///
        /// # Safety
        /// `base` must have an initialised element of the type at the position.
        unsafe fn load_number(dtype: DType, base: *const u8, at: usize) -> Number {
            match dtype {
                $(DType::$dtype => {
                    // SAFETY: the caller's promise.
                    let $value = unsafe { base.cast::<$element>().add(at).read() };
                    $number
                })*
            }
        }

        /// Stores a number as an element of the given type.
        ///
        /// # Safety
        /// Writing an element of the type at the position from `base` must be allowed.
        unsafe fn store_number(dtype: DType, base: *mut u8, at: usize, number: Number) {
            match dtype {
                // SAFETY: the caller's promise.
                $(DType::$dtype => unsafe {
                    base.cast::<$element>().add(at).write(<$element>::from_number(number));
                },)*
            }
        }
    };
}
numbers! {
    Bool: Bool, |value| Number::Integer(value.get().into());
    U8: u8, |value| Number::Integer(value.into());
    I8: i8, |value| Number::Integer(value.into());
    I16: i16, |value| Number::Integer(value.into());
    I32: i32, |value| Number::Integer(value.into());
    I64: i64, |value| Number::Integer(value);
    F16: f16, |value| Number::Real(value.into());
    Bf16: bf16, |value| Number::Real(value.into());
    F32: f32, |value| Number::Real(value.into());
    F64: f64, |value| Number::Real(value);
    Complex64: Complex<f32>, |value| Number::Complex(Complex::new(value.re.into(), value.im.into()));
    Complex128: Complex<f64>, |value| Number::Complex(value);
}

/// The compute type of integers.
type Integer = Wrapping<i64>;

/// An element type that can be loaded as numbers of the compute type `M` and stored from them.
///
/// Floats are rounded to the nearest, ties to even. A float stored as an integer loses its fraction, NaN
/// becomes 0, and values out of range wrap. [`Bool`] stores whether the number is nonzero, and is loaded as 0
/// or 1.
pub(crate) trait Cast<M>: Copy + Pod {
    /// Converts a computed number to its stored form.
    fn store(value: M) -> Self;
    /// Converts the stored number to the compute type.
    fn load(self) -> M;

    /// Stores contiguous numbers, up to the length of the shorter slice.
    #[inline(always)]
    fn store_all(target: &mut [Self], values: &[M])
    where
        M: Copy,
    {
        std::iter::zip(target, values).for_each(|(target, &value)| *target = Self::store(value));
    }

    /// Loads contiguous numbers, up to the length of the shorter slice.
    #[inline(always)]
    fn load_all(source: &[Self], values: &mut [M]) {
        std::iter::zip(source, values).for_each(|(source, value)| *value = source.load());
    }
}

macro_rules! casts {
    ($($stored:ident as $math:ty: $store:expr, $load:expr;)*) => {$(
        impl Cast<$math> for $stored {
            #[inline(always)]
            fn store(value: $math) -> Self {
                $store(value)
            }

            #[inline(always)]
            fn load(self) -> $math {
                $load(self)
            }
        }
    )*};
}
casts! {
    f32 as f32: identity, identity;
    f64 as f64: identity, identity;
    f64 as f32: f64::from, |stored| stored as f32;
    f32 as f64: |value| value as f32, f64::from;
    bf16 as f32: bf16::from_f32, bf16::to_f32;
    bf16 as f64: |value| bf16::from_f32(round_to_odd(value)), bf16::to_f64;
    f16 as f64: |value| f16::from_f32(round_to_odd(value)), f16::to_f64;
    i64 as Integer: |value: Integer| value.0, Wrapping;
    Integer as Integer: identity, identity;
    Bool as f32: |value| Bool::from(value != 0.0), |stored: Bool| f32::from(u8::from(stored.get()));
    Bool as f64: |value| Bool::from(value != 0.0), |stored: Bool| f64::from(u8::from(stored.get()));
    Bool as Integer: |value: Integer| Bool::from(value.0 != 0), |stored: Bool| Wrapping(stored.get().into());
    f64 as Integer: |value: Integer| value.0 as f64, |stored| Wrapping(stored as i64);
    f32 as Integer: |value: Integer| value.0 as f32, |stored| Wrapping(stored as i64);
    bf16 as Integer: |value: Integer| bf16::store(value.0 as f64), |stored: bf16| Wrapping(stored.to_f32() as i64);
    f16 as Integer: |value: Integer| f16::store(value.0 as f64), |stored: f16| Wrapping(stored.to_f32() as i64);
}

macro_rules! integers {
    ($($stored:ident)*) => {
        $(casts! {
            $stored as f32: |value| value as i64 as $stored, |stored| stored as f32;
            $stored as f64: |value| value as i64 as $stored, |stored| stored as f64;
        })*
    };
}
integers!(u8 i8 i16 i32 i64);

macro_rules! small_integers {
    ($($stored:ident)*) => {
        casts! {
            $($stored as Integer: |value: Integer| value.0 as $stored, |stored| Wrapping(i64::from(stored));)*
        }
    };
}
small_integers!(u8 i8 i16 i32);

impl Cast<f32> for f16 {
    #[inline]
    fn store(value: f32) -> Self {
        Self::from_f32(value)
    }

    #[inline]
    fn load(self) -> f32 {
        self.to_f32()
    }

    // Detects the processor's instructions once instead of for each element.
    fn store_all(target: &mut [Self], values: &[f32]) {
        let count = target.len().min(values.len());
        target[..count].convert_from_f32_slice(&values[..count]);
    }

    fn load_all(source: &[Self], values: &mut [f32]) {
        let count = source.len().min(values.len());
        source[..count].convert_to_f32_slice(&mut values[..count]);
    }
}

/// Rounds to `f32`, to odd: returns the adjacent `f32` with an odd last bit unless the value is exact.
///
/// Rounding the result again, to half the bits or fewer, gives the same value as rounding once.
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || value.is_nan() {
        return nearest;
    }
    let towards_zero = nearest.to_bits() - u32::from(f64::from(nearest).abs() > value.abs());
    f32::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_once() {
        // A tie in float16 or bfloat16, except for a bit that float32 cannot represent.
        for tiny in [f64::powi(2.0, -40), -f64::powi(2.0, -40)] {
            let up = f64::from(u8::from(tiny > 0.0));
            let wanted = 1.0 + up * f64::powi(2.0, -10);
            assert_eq!(f16::store(1.0 + f64::powi(2.0, -11) + tiny).to_f64(), wanted);
            let wanted = 1.0 + up * f64::powi(2.0, -7);
            assert_eq!(bf16::store(-1.0 - f64::powi(2.0, -8) - tiny).to_f64(), -wanted);
        }
        for (value, wanted) in [
            (1e300, f64::INFINITY),
            (-1e300, f64::NEG_INFINITY),
            (1e-300, 0.0),
            (0.5, 0.5),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(f16::store(value).to_f64(), wanted);
            assert_eq!(bf16::store(value).to_f64(), wanted);
        }
        assert!(f16::store(f64::NAN).is_nan() && bf16::store(f64::NAN).is_nan());
    }

    #[test]
    fn integers_wrap_what_they_cannot_hold() {
        assert_eq!(u8::store(-1.9_f32), 255);
        assert_eq!(i8::store(200.0_f64), -56);
        assert_eq!(i32::store(f32::NAN), 0);
        assert_eq!(i64::store(f64::INFINITY), i64::MAX);
        assert_eq!(i16::store(Wrapping(70_000)), 4464);
    }
}
