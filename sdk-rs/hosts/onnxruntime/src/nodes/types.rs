//! Sets of types of elements.

use crate::api::runtime::ElementType;

/// Types of elements, each of which is a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements(u32);

impl Elements {
    const fn of(types: &[ElementType]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < types.len() {
            bits |= 1 << types[index].0;
            index += 1;
        }
        Self(bits)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types in the order of their numbers.
    pub(super) fn iter(self) -> impl Iterator<Item = ElementType> {
        (0..32).filter(move |bit| self.0 & (1 << bit) != 0).map(ElementType)
    }
}

/// The sets that `spec/onnxruntime/nodes` names.
macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident = $($ty:ident)+;)*) => {$(
        $(#[$doc])*
        pub(super) const $name: Elements = Elements::of(&[$(ElementType::$ty),+]);
    )*};
}
sets! {
    FLOAT = FLOAT16 BFLOAT16 FLOAT DOUBLE;
    INTEGER = INT8 INT16 INT32 INT64 UINT8;
    /// A device has them as signed ones: only for kernels that compute the same for both.
    UNSIGNED = UINT16 UINT32 UINT64;
    BOOL = BOOL;
    FLOAT32 = FLOAT;
    INT64 = INT64;
    INT32 = INT32;
    INT8 = INT8;
    UINT8 = UINT8;
}
