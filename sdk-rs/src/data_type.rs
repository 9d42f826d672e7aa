//! The sizes of elements.

use crate::device::DataType;

impl DataType {
    /// Returns the number of bytes of an element; `None` for types that this crate does not know.
    #[must_use]
    pub fn size(self) -> Option<usize> {
        match self {
            DataType::BOOL | DataType::UINT8 | DataType::INT8 => Some(1),
            DataType::UINT16 | DataType::INT16 | DataType::FLOAT16 | DataType::BFLOAT16 => Some(2),
            DataType::UINT32 | DataType::INT32 | DataType::FLOAT32 => Some(4),
            DataType::UINT64 | DataType::INT64 | DataType::FLOAT64 | DataType::COMPLEX64 => Some(8),
            DataType::COMPLEX128 => Some(16),
            _ => None,
        }
    }
}
