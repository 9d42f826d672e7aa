//! Hash maps with integer keys that no attacker chooses, so a fast hash without a seed is enough.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fold>>;

/// Multiplies, and folds the upper half of the product into the lower.
#[derive(Clone, Copy, Default)]
pub struct Fold(u64);

impl Hasher for Fold {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = fold(self.0 ^ number);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the hash of a key.
#[inline]
pub fn fold(number: u64) -> u64 {
    // 2^64 divided by the golden ratio, the multiplier of Fibonacci hashing.
    let product = u128::from(number) * 0x9e37_79b9_7f4a_7c15;
    (product ^ (product >> 64)) as u64
}
