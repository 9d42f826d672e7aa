//! Element types, and conversions from numbers to elements.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;
use num_traits::Float;

/// A boolean as frameworks store it: one byte, where every value except zero is true.
///
/// This is not `bool`, which must be 0 or 1: memory filled by a framework may contain other values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Returns the value as a `bool`.
    #[must_use]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

/// A floating-point compute type: `f32` or `f64`.
pub trait Real: Float + Pod + Send + Sync + std::fmt::Debug {
    /// Rounds to the nearest number of this type.
    fn narrow(value: f64) -> Self;
    /// Converts to the widest type without changing the value.
    fn widen(self) -> f64;
}

macro_rules! real {
    ($($real:ident)*) => {$(
        impl Real for $real {
            #[inline]
            fn narrow(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn widen(self) -> f64 {
                self.into()
            }
        }
    )*};
}
real!(f32 f64);

/// A number whose type is known only at run time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer or a boolean.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Number {
    /// Converts to an integer. Drops the fraction and the imaginary part.
    #[must_use]
    pub fn to_i64(self) -> i64 {
        match self {
            Self::Integer(value) => value,
            Self::Real(value) => value as i64,
            Self::Complex(value) => value.re as i64,
        }
    }

    /// Converts to a floating-point number. Drops the imaginary part.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
            Self::Complex(value) => value.re,
        }
    }

    /// Converts to a complex number.
    #[must_use]
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Self::Complex(value) => value,
            other => Complex::new(other.to_f64(), 0.0),
        }
    }

    /// Returns true if the number is nonzero.
    #[must_use]
    pub fn to_bool(self) -> bool {
        match self {
            Self::Integer(value) => value != 0,
            Self::Real(value) => value != 0.0,
            Self::Complex(value) => value != Complex::new(0.0, 0.0),
        }
    }
}

/// An element that a number can be converted to, with the rules of a C cast.
pub trait FromNumber: Pod {
    /// Converts a number to an element.
    fn from_number(number: Number) -> Self;
}

macro_rules! from_number {
    ($($element:ty: |$number:ident| $value:expr;)*) => {$(
        impl FromNumber for $element {
            fn from_number($number: Number) -> Self {
                $value
            }
        }
    )*};
}
from_number! {
    Bool: |number| number.to_bool().into();
    u8: |number| number.to_i64() as u8;
    i8: |number| number.to_i64() as i8;
    i16: |number| number.to_i64() as i16;
    i32: |number| number.to_i64() as i32;
    i64: |number| number.to_i64();
    f32: |number| number.to_f64() as f32;
    f64: |number| number.to_f64();
    f16: |number| f16::from_f32(number.to_f64() as f32);
    bf16: |number| bf16::from_f32(number.to_f64() as f32);
    Complex<f32>: |number| Complex::new(number.to_complex().re as f32, number.to_complex().im as f32);
    Complex<f64>: |number| number.to_complex();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_elements_as_in_c() {
        assert_eq!(u8::from_number(Number::Integer(-1)), 255);
        assert_eq!(i8::from_number(Number::Real(-3.9)), -3);
        assert_eq!(i64::from_number(Number::Integer(i64::MAX)), i64::MAX);
        assert_eq!(f32::from_number(Number::Integer(3)), 3.0);
        assert_eq!(f16::from_number(Number::Real(0.5)).to_f32(), 0.5);
        assert_eq!(bf16::from_number(Number::Real(1e30)), bf16::from_f32(1e30));
        let complex = Number::Complex(Complex::new(1.5, -2.0));
        assert_eq!(Complex::<f32>::from_number(complex), Complex::new(1.5, -2.0));
        assert_eq!(Complex::<f64>::from_number(Number::Integer(2)), Complex::new(2.0, 0.0));
    }

    #[test]
    fn truth_is_anything_but_zero() {
        assert!(bytemuck::cast::<u8, Bool>(2).get());
        assert_eq!(Bool::from_number(Number::Real(0.25)), true.into());
        assert_eq!(Bool::from_number(Number::Complex(Complex::new(0.0, 1.0))), true.into());
        assert_eq!(Bool::from_number(Number::Real(-0.0)), false.into());
    }
}
