//! A random sequence of choices. The same seed gives the same sequence.

/// The rest of a sequence.
pub struct Choices {
    state: u64,
}

impl Choices {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next number, by SplitMix64.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    /// Returns true once in `count` times.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Chooses one of the values; `None` if there are none.
    pub fn one_of<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        let index = self.below(values.len());
        values.get(index)
    }

    /// Returns a size: mostly a small one, or one near a power of two.
    pub fn size(&mut self) -> u64 {
        let near = self.below(3) as u64;
        match self.below(8) {
            0 => near,
            _ => (1_u64 << (3 + self.below(14))) + near - 1,
        }
    }

    /// Returns a size that no memory has.
    pub fn huge_size(&mut self) -> u64 {
        let by = self.below(64) as u64;
        match self.below(4) {
            0 => u64::MAX - by,
            1 => i64::MAX as u64 - 32 + by,
            2 => 1 << 63,
            _ => 1 << (48 + self.below(15)),
        }
    }
}
