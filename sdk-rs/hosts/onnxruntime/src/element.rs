//! The types of elements, here and in the host.

use tenon::device::DataType;

use crate::api::runtime::ElementType;

macro_rules! types {
    ($($element:ident = $data_type:ident,)*) => {
        /// Returns the type of a device for a type of the host; `None` if devices do not have it.
        pub(crate) fn data_type(element: ElementType) -> Option<DataType> {
            Some(match element {
                $(ElementType::$element => DataType::$data_type,)*
                _ => return None,
            })
        }
    };
}
types! {
    BOOL = BOOL,
    UINT8 = UINT8,
    INT8 = INT8,
    INT16 = INT16,
    INT32 = INT32,
    INT64 = INT64,
    // Kernels for unsigned types only move elements, or compute what is the same for both.
    UINT16 = INT16,
    UINT32 = INT32,
    UINT64 = INT64,
    FLOAT16 = FLOAT16,
    BFLOAT16 = BFLOAT16,
    FLOAT = FLOAT32,
    DOUBLE = FLOAT64,
    COMPLEX64 = COMPLEX64,
    COMPLEX128 = COMPLEX128,
}
