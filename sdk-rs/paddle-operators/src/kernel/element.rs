//! The types of elements that operators are registered for.

use tenon::device::DataType;
use tenon_kernels::{Bool, Complex, DType, FromNumber, bf16, f16};

use crate::error::{Error, Result};

/// A type of elements that Paddle has a name for.
pub(crate) trait Element: tenon_kernels::Element + FromNumber {
    /// Its name.
    const DATA_TYPE: DataType;
}

/// The floating-point types.
pub(crate) const FLOATS: &[DataType] =
    &[DataType::FLOAT16, DataType::BFLOAT16, DataType::FLOAT32, DataType::FLOAT64];
/// The integer types.
pub(crate) const INTEGERS: &[DataType] =
    &[DataType::UINT8, DataType::INT8, DataType::INT16, DataType::INT32, DataType::INT64];
/// The types of complex numbers.
pub(crate) const COMPLEX: &[DataType] = &[DataType::COMPLEX64, DataType::COMPLEX128];
/// The type of truth values.
pub(crate) const BOOL: &[DataType] = &[DataType::BOOL];

macro_rules! element {
    ($($element:ty: $name:ident,)*) => {$(
        impl Element for $element {
            const DATA_TYPE: DataType = DataType::$name;
        }
    )*

        /// The type of elements as kernels have it.
        pub(super) fn dtype(name: &str, data_type: DataType) -> Result<DType> {
            match data_type {
                $(DataType::$name => Ok(<$element as tenon_kernels::Element>::DTYPE),)*
                other => Err(Error::unimplemented(format!("`{name}` has elements of type {other:?}"))),
            }
        }

        /// The type of elements as Paddle has it.
        pub(super) fn data_type(dtype: DType) -> DataType {
            match dtype {
                $(<$element as tenon_kernels::Element>::DTYPE => DataType::$name,)*
            }
        }
    };
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
