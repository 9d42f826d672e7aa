//! The random number generator.

use crate::loops::simd::wide;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Computes a block of Philox 4x32-10.
#[must_use]
#[inline(always)]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let first = u64::from(counter[0]) * u64::from(MULTIPLIERS[0]);
        let second = u64::from(counter[2]) * u64::from(MULTIPLIERS[1]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// The random numbers of a seed, starting at an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    seed: u64,
    offset: u64,
}

impl Numbers {
    pub(super) fn new(seed: i64, offset: i64) -> Self {
        Self { seed: seed.cast_unsigned(), offset: offset.cast_unsigned() }
    }

    /// Returns the two numbers of a block.
    #[inline(always)]
    pub(super) fn pair(self, block: usize) -> [u64; 2] {
        self.pair_of(block, 0)
    }

    /// Returns the two numbers of a block of an element that has its own sequence.
    #[inline(always)]
    pub(super) fn pair_of(self, element: usize, block: u64) -> [u64; 2] {
        let place = self.offset.wrapping_add(element as u64);
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let counter = [place as u32, (place >> 32) as u32, block as u32, (block >> 32) as u32];
        let [a, b, c, d] = philox(counter, key);
        [u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)]
    }

    /// Returns 1 for each of `count` numbers whose fraction is at least `p`, and 0 for the others.
    pub(super) fn at_least(self, p: f64, count: usize) -> Vec<u8> {
        /// The number of blocks computed at once.
        const BLOCKS: usize = 64;
        // Fractions are multiples of 2^-53.
        let least = (p * (1_u64 << 53) as f64).ceil() as u64;
        let mut pairs = [[0; 2]; BLOCKS];
        let mut results = vec![0; count];
        for (tile, results) in results.chunks_mut(2 * BLOCKS).enumerate() {
            wide(
                #[inline(always)]
                || {
                    for (n, pair) in pairs.iter_mut().enumerate() {
                        *pair = self.pair(tile * BLOCKS + n);
                    }
                    for (result, &bits) in results.iter_mut().zip(pairs.as_flattened()) {
                        *result = u8::from(bits >> 11 >= least);
                    }
                },
            );
        }
        results
    }

    /// Returns `count` random numbers of 64 bits.
    pub(super) fn bits(self, count: usize) -> impl Iterator<Item = u64> {
        (0..count.div_ceil(2)).flat_map(move |block| self.pair(block)).take(count)
    }

    /// Returns `count` numbers from 0 (inclusive) to 1 (exclusive): multiples of 2^-53.
    pub(super) fn fractions(self, count: usize) -> impl Iterator<Item = f64> {
        self.bits(count).map(|bits| fraction(bits, 53))
    }
}

/// Converts the highest `count` bits to a number from 0 (inclusive) to 1 (exclusive).
pub(super) fn fraction(bits: u64, count: u32) -> f64 {
    (bits >> (64 - count)) as f64 / (1_u64 << count) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_those_of_fractions() {
        let numbers = Numbers::new(7, 11);
        let exact = numbers.fractions(300).nth(123).unwrap();
        for p in [0.0, 0.1, exact, exact.next_up(), 0.5, 1.0] {
            let wanted: Vec<u8> = numbers.fractions(300).map(|u| u8::from(u >= p)).collect();
            assert_eq!(numbers.at_least(p, 300), wanted, "{p}");
        }
    }
}
