//! Selects the compute type of operators that accumulate sums, from the element type.

/// Evaluates an expression with the name of the compute type of an element type: `f32` for `f32` and smaller
/// floats, `f64` for `f64`, and `Wrapping<i64>` for integers and booleans.
macro_rules! with_number {
    ($dtype:expr, $number:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F64 => {
                type $number = f64;
                $body
            }
            $crate::DType::F16 | $crate::DType::Bf16 | $crate::DType::F32 => {
                type $number = f32;
                $body
            }
            dtype @ ($crate::DType::Complex64 | $crate::DType::Complex128) => {
                Err($crate::Error::Type { dtype })
            }
            _ => {
                type $number = std::num::Wrapping<i64>;
                $body
            }
        }
    };
}
pub(crate) use with_number;

/// As `with_number`, for floating-point operators only.
macro_rules! with_float {
    ($dtype:expr, $number:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F64 => {
                type $number = f64;
                $body
            }
            $crate::DType::F16 | $crate::DType::Bf16 | $crate::DType::F32 => {
                type $number = f32;
                $body
            }
            dtype => Err($crate::Error::Type { dtype }),
        }
    };
}
pub(crate) use with_float;

/// Evaluates an expression with the name of the type of the parts of a complex type.
macro_rules! with_complex {
    ($dtype:expr, $part:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Complex64 => {
                type $part = f32;
                $body
            }
            $crate::DType::Complex128 => {
                type $part = f64;
                $body
            }
            dtype => Err($crate::Error::Type { dtype }),
        }
    };
}
pub(crate) use with_complex;
