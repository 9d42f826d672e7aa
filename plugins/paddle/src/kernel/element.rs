//! The types of elements that operators are registered for.

use tenon::device::DataType;
use tenon_kernels::{Bool, Complex, FromNumber, Pod, bf16, f16};

/// A type of elements that Paddle has a name for.
pub(crate) trait Element: Pod + FromNumber {
    /// Its name.
    const DATA_TYPE: DataType;
}

macro_rules! element {
    ($($element:ty: $name:ident,)*) => {$(
        impl Element for $element {
            const DATA_TYPE: DataType = DataType::$name;
        }
    )*};
}
element! {
    Bool: BOOL,
    u8: UINT8,
    i8: INT8,
    i16: INT16,
    i32: INT32,
    i64: INT64,
    f16: FLOAT16,
    f32: FLOAT32,
    f64: FLOAT64,
    bf16: BFLOAT16,
    Complex<f32>: COMPLEX64,
    Complex<f64>: COMPLEX128,
}
