//! Element types: their sizes, and conversion of 16-bit floats.

use half::f16;

use crate::api::DataType;

/// Returns the size of an element in bytes; 0 for unknown types and for types whose size is not a whole number of
/// bytes.
pub(crate) fn size(data_type: DataType) -> usize {
    match data_type {
        DataType::INT8 | DataType::UINT8 | DataType::BOOL | DataType::HIFLOAT8 => 1,
        DataType::FLOAT8_E5M2 | DataType::FLOAT8_E4M3FN | DataType::FLOAT8_E8M0 => 1,
        DataType::INT16 | DataType::UINT16 | DataType::FLOAT16 | DataType::BF16 => 2,
        DataType::INT32 | DataType::UINT32 | DataType::FLOAT | DataType::COMPLEX32 => 4,
        DataType::INT64 | DataType::UINT64 | DataType::DOUBLE | DataType::COMPLEX64 => 8,
        DataType::COMPLEX128 => 16,
        _ => 0,
    }
}

/// Converts the bits of an IEEE 754 binary16 to a float.
pub(crate) fn from_half(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// Converts a float to the bits of the nearest IEEE 754 binary16, ties to even.
pub(crate) fn to_half(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_to_float_and_back_is_exact() {
        for bits in 0..=u16::MAX {
            let value = from_half(bits);
            if value.is_nan() {
                assert!(from_half(to_half(value)).is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(to_half(value), bits, "{bits:#06x} is {value}");
            }
        }
    }

    #[test]
    fn to_half_rounds_to_nearest_even() {
        // Between 2048 and 4096, halves are the even numbers.
        for (value, bits) in [(2049.0, 0x6800), (2051.0, 0x6802), (2050.0, 0x6801), (-2049.0, 0xe800)] {
            assert_eq!(to_half(value), bits, "{value}");
        }
        assert_eq!(to_half(65504.0), 0x7bff, "the largest");
        assert_eq!(to_half(65520.0), 0x7c00, "the first that is too large");
        assert_eq!(to_half(2f32.powi(-24)), 1, "the smallest");
        assert_eq!(to_half(-(2f32.powi(-26))), 0x8000, "too small, and negative");
    }

    #[test]
    fn size_matches_the_type() {
        let sizes = [
            (0, 4),
            (1, 2),
            (2, 1),
            (3, 4),
            (11, 8),
            (12, 1),
            (17, 16),
            (27, 2),
            (13, 0),
            (29, 0),
            (-1, 0),
            (99, 0),
        ];
        for (data_type, bytes) in sizes {
            assert_eq!(size(DataType(data_type)), bytes, "type {data_type}");
        }
    }
}
