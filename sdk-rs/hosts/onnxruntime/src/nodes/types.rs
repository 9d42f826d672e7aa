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

type Ty = ElementType;

pub(super) const FLOAT: Elements = Elements::of(&[Ty::FLOAT]);
pub(super) const FLOATS: Elements = Elements::of(&[Ty::FLOAT16, Ty::BFLOAT16, Ty::FLOAT, Ty::DOUBLE]);
pub(super) const INT32: Elements = Elements::of(&[Ty::INT32]);
pub(super) const INT64: Elements = Elements::of(&[Ty::INT64]);
pub(super) const INDICES: Elements = INT32.and(INT64);
pub(super) const UINT8: Elements = Elements::of(&[Ty::UINT8]);
pub(super) const BYTES: Elements = Elements::of(&[Ty::INT8, Ty::UINT8]);
pub(super) const INTEGERS: Elements = BYTES.and(Elements::of(&[Ty::INT16, Ty::INT32, Ty::INT64]));
/// A device has them as signed ones: only for kernels that compute the same for both.
pub(super) const UNSIGNED: Elements = Elements::of(&[Ty::UINT16, Ty::UINT32, Ty::UINT64]);
pub(super) const BOOL: Elements = Elements::of(&[Ty::BOOL]);
pub(super) const NUMBERS: Elements = FLOATS.and(INTEGERS);
pub(super) const VALUES: Elements = NUMBERS.and(BOOL);
/// For kernels that only move elements.
pub(super) const ALL: Elements = VALUES.and(UNSIGNED);
