//! The element types that operators are registered for, and conversions from numbers to elements.

use tenon::device::DataType;

use crate::error::{Error, Result};
use crate::kernel::argument::float16::{Bf16, F16};

/// A boolean as Paddle stores it: one byte, where every value except zero is true.
///
/// This is not `bool`, which must be 0 or 1: memory filled by a host may contain other values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Bool(u8);

impl Bool {
    /// Returns the value as a `bool`.
    pub(crate) fn get(self) -> bool {
        self.0 != 0
    }
}

/// A complex number.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub(crate) struct Complex<T> {
    /// The real part.
    pub(crate) re: T,
    /// The imaginary part.
    pub(crate) im: T,
}

/// A number whose type is known only at run time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    /// An integer or a boolean.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Number {
    /// Converts to an integer. Drops the fraction and the imaginary part.
    pub(crate) fn to_i64(self) -> i64 {
        match self {
            Self::Integer(value) => value,
            Self::Real(value) | Self::Complex(Complex { re: value, .. }) => value as i64,
        }
    }

    /// Converts to a floating-point number. Drops the imaginary part.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) | Self::Complex(Complex { re: value, .. }) => value,
        }
    }

    fn to_complex(self) -> Complex<f64> {
        match self {
            Self::Complex(value) => value,
            other => Complex { re: other.to_f64(), im: 0.0 },
        }
    }

    fn to_bool(self) -> bool {
        match self {
            Self::Integer(value) => value != 0,
            other => other.to_complex() != Complex { re: 0.0, im: 0.0 },
        }
    }
}

/// An element type that Paddle has a name for.
///
/// # Safety
/// Every bit pattern must be a valid element, and the type must have no padding.
pub(crate) unsafe trait Element: Copy + 'static {
    /// Paddle's name for the type.
    const DATA_TYPE: DataType;

    /// Converts a number with the rules of a C cast.
    fn from_number(number: Number) -> Self;

    /// Returns the element as a number.
    fn to_number(self) -> Number;
}

/// The floating-point types.
pub(crate) const FLOATS: &[DataType] =
    &[DataType::FLOAT16, DataType::BFLOAT16, DataType::FLOAT32, DataType::FLOAT64];
/// The integer types.
pub(crate) const INTEGERS: &[DataType] =
    &[DataType::UINT8, DataType::INT8, DataType::INT16, DataType::INT32, DataType::INT64];
/// The complex types.
pub(crate) const COMPLEX: &[DataType] = &[DataType::COMPLEX64, DataType::COMPLEX128];
/// The boolean type.
pub(crate) const BOOL: &[DataType] = &[DataType::BOOL];

macro_rules! elements {
    ($($data_type:ident: $element:ty, |$number:ident| $from:expr, |$value:ident| $to:expr;)*) => {
        $(
            // SAFETY: it consists of integers and floating-point numbers of the same size.
            unsafe impl Element for $element {
                const DATA_TYPE: DataType = DataType::$data_type;

                fn from_number($number: Number) -> Self {
                    $from
                }

                fn to_number(self) -> Number {
                    let $value = self;
                    $to
                }
            }
        )*

        /// Returns the size and the alignment of an element type.
        pub(in crate::kernel) fn size_and_alignment(name: &str, data_type: DataType) -> Result<(usize, usize)> {
            match data_type {
                $(DataType::$data_type => Ok((size_of::<$element>(), align_of::<$element>())),)*
                other => Err(Error::unimplemented(format!("`{name}` has elements of type {other:?}"))),
            }
        }
    };
}
elements! {
    BOOL: Bool, |number| Bool(number.to_bool().into()), |value| Number::Integer(value.get().into());
    UINT8: u8, |number| number.to_i64() as u8, |value| Number::Integer(value.into());
    INT8: i8, |number| number.to_i64() as i8, |value| Number::Integer(value.into());
    INT16: i16, |number| number.to_i64() as i16, |value| Number::Integer(value.into());
    INT32: i32, |number| number.to_i64() as i32, |value| Number::Integer(value.into());
    INT64: i64, |number| number.to_i64(), |value| Number::Integer(value);
    FLOAT16: F16, |number| F16::from_f32(number.to_f64() as f32), |value| Number::Real(value.to_f64());
    BFLOAT16: Bf16, |number| Bf16::from_f32(number.to_f64() as f32), |value| Number::Real(value.to_f64());
    FLOAT32: f32, |number| number.to_f64() as f32, |value| Number::Real(value.into());
    FLOAT64: f64, |number| number.to_f64(), |value| Number::Real(value);
    COMPLEX64: Complex<f32>,
        |number| { let Complex { re, im } = number.to_complex(); Complex { re: re as f32, im: im as f32 } },
        |value| Number::Complex(Complex { re: value.re.into(), im: value.im.into() });
    COMPLEX128: Complex<f64>, |number| number.to_complex(), |value| Number::Complex(value);
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
        assert_eq!(F16::from_number(Number::Real(0.5)).to_number(), Number::Real(0.5));
        let complex = Number::Complex(Complex { re: 1.5, im: -2.0 });
        assert_eq!(Complex::<f32>::from_number(complex), Complex { re: 1.5, im: -2.0 });
        assert_eq!(Complex::<f64>::from_number(Number::Integer(2)), Complex { re: 2.0, im: 0.0 });
    }

    #[test]
    fn truth_is_anything_but_zero() {
        assert_eq!(Bool(2).to_number(), Number::Integer(1));
        assert!(Bool::from_number(Number::Real(0.25)).get());
        assert!(Bool::from_number(Number::Complex(Complex { re: 0.0, im: 1.0 })).get());
        assert!(!Bool::from_number(Number::Real(-0.0)).get());
    }
}
