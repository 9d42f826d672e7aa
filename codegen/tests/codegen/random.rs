//! Random numbers, and how many tests try.

/// Pseudo-random numbers, the same in each run.
pub struct Shift(pub u64);

impl Shift {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Returns the factor for the number of attempts: the environment variable `ROUNDS`, or 1.
pub fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}
