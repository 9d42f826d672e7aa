//! The generator.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// A block of Philox 4x32-10.
#[must_use]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let [first, second] = [(counter[0], MULTIPLIERS[0]), (counter[2], MULTIPLIERS[1])]
            .map(|(a, b)| u64::from(a) * u64::from(b));
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

/// The numbers of a seed from an offset on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    seed: u64,
    offset: u64,
}

impl Numbers {
    pub(super) fn new(seed: i64, offset: i64) -> Self {
        Self { seed: seed.cast_unsigned(), offset: offset.cast_unsigned() }
    }

    /// The two numbers of a block.
    pub(super) fn pair(self, block: usize) -> [u64; 2] {
        self.pair_of(block, 0)
    }

    /// The two numbers of a block of an element with numbers of its own.
    pub(super) fn pair_of(self, element: usize, block: u64) -> [u64; 2] {
        let place = self.offset.wrapping_add(element as u64);
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let counter = [place, place >> 32, block, block >> 32].map(|word| word as u32);
        let words = philox(counter, key).map(u64::from);
        [words[1] << 32 | words[0], words[3] << 32 | words[2]]
    }

    /// So many numbers.
    pub(super) fn bits(self, count: usize) -> impl Iterator<Item = u64> {
        (0..count.div_ceil(2)).flat_map(move |block| self.pair(block)).take(count)
    }

    /// So many numbers from 0 to 1, without 1: multiples of 2^-53.
    pub(super) fn fractions(self, count: usize) -> impl Iterator<Item = f64> {
        self.bits(count).map(|bits| fraction(bits, 53))
    }
}

/// A number from 0 to 1, without 1, of the highest bits.
pub(super) fn fraction(bits: u64, count: u32) -> f64 {
    (bits >> (64 - count)) as f64 / (1_u64 << count) as f64
}
