//! The type that an operator with sums computes in, chosen from the type of elements.

/// Evaluates an expression with the name of the type that elements of a type are computed in: `f32` for it and the
/// smaller floats, `f64`, and `Wrapping<i64>` for integers and truth values.
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

/// As `with_number`, for operators of floats only.
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
