//! The hash of a text: small, and the same on every machine.

use std::fmt;

/// FNV-1a with 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

/// A finished [`Fnv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text and its end. The line ends of Windows count as those of Unix: a checkout may have changed them.
    pub fn text(mut self, text: &[u8]) -> Self {
        for (index, byte) in text.iter().enumerate() {
            if *byte != b'\r' || text.get(index + 1) != Some(&b'\n') {
                self.byte(*byte);
            }
        }
        self.byte(0);
        self
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Returns the hash of all that was added.
    pub fn finish(self) -> Hash {
        Hash(self.0)
    }
}

impl Hash {
    /// Computes the hash of one text.
    pub fn of(text: &[u8]) -> Self {
        Fnv::default().text(text).finish()
    }

    /// Returns the hash as a number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Returns the hash that [`Display`](fmt::Display) wrote.
    pub fn parse(digits: &str) -> Option<Self> {
        let valid = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| valid).map(Hash)
    }
}

/// 16 hexadecimal digits.
impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_ignores_line_ends_and_nothing_else() {
        let hash = |text: &str| Hash::of(text.as_bytes());
        assert_eq!(hash("a\r\nb\r\n"), hash("a\nb\n"));
        assert_ne!(hash("a\rb"), hash("ab"));
        assert_ne!(hash("a\n"), hash("a"));
    }

    #[test]
    fn hash_is_read_back_as_written() {
        let hash = Hash::of(b"text");
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(Hash::parse("+123456789abcdef"), None);
        assert_eq!(Hash::parse("1234"), None);
    }
}
