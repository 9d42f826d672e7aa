//! Element types as values.

use std::fmt;
use std::num::Wrapping;

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use crate::elements::element::Bool;

macro_rules! dtypes {
    ($($variant:ident: $element:ty, $name:literal;)*) => {
        /// An element type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl DType {
            /// All types.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the size of an element in bytes.
            #[must_use]
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$variant => size_of::<$element>(),)*
                }
            }

            /// Returns the alignment of an element in bytes.
            #[must_use]
            pub const fn align(self) -> usize {
                match self {
                    $(Self::$variant => align_of::<$element>(),)*
                }
            }

            /// Returns the name of the type in NumPy and the frameworks.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        $(impl Element for $element {
            const DTYPE: DType = DType::$variant;
        })*
    };
}

/// A Rust type that elements of a tensor can have.
pub trait Element: Pod {
    /// The type as a value.
    const DTYPE: DType;
}

dtypes! {
    Bool: Bool, "bool";
    U8: u8, "uint8";
    I8: i8, "int8";
    I16: i16, "int16";
    I32: i32, "int32";
    I64: i64, "int64";
    F16: f16, "float16";
    Bf16: bf16, "bfloat16";
    F32: f32, "float32";
    F64: f64, "float64";
    Complex64: Complex<f32>, "complex64";
    Complex128: Complex<f64>, "complex128";
}

impl Element for Wrapping<i64> {
    const DTYPE: DType = DType::I64;
}

impl DType {
    /// Returns true for real floating-point types.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Returns true for complex types.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex64 | Self::Complex128)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
