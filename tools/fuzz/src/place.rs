//! Memory of the host that a function writes to, with a guard behind it.

/// The byte that is at each place before a call.
const POISON: u8 = 0xA5;

/// Length of the guard, in bytes.
const GUARD: usize = 64;

/// A place for an output.
pub struct Place {
    words: Vec<u64>,
    /// Length of the output, in bytes.
    len: usize,
}

impl Place {
    /// Creates a place for this number of bytes, which are poisoned.
    pub fn new(len: usize) -> Self {
        let words = (len + GUARD).div_ceil(8);
        Self { words: vec![u64::from_ne_bytes([POISON; 8]); words], len }
    }

    /// Writes the value of an input that the function may replace.
    pub fn with(mut self, value: u64) -> Self {
        let mut first = self.words[0].to_ne_bytes();
        let len = self.len.min(first.len());
        first[..len].copy_from_slice(&value.to_ne_bytes()[..len]);
        self.words[0] = u64::from_ne_bytes(first);
        self
    }

    /// Creates a place full of zeros, without a guard.
    pub fn zeroed(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(8)], len }
    }

    pub fn address(&mut self) -> u64 {
        self.words.as_mut_ptr().expose_provenance() as u64
    }

    /// Returns the first 8 bytes.
    pub fn value(&self) -> u64 {
        self.words[0]
    }

    /// Returns true if nothing was written.
    pub fn is_untouched(&self) -> bool {
        self.bytes().all(|byte| byte == POISON)
    }

    /// Returns true if nothing was written behind the place.
    pub fn is_guarded(&self) -> bool {
        self.bytes().skip(self.len).all(|byte| byte == POISON)
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_ne_bytes())
    }
}
