//! The file of a capture: a head, and records that are written one by one.
//!
//! The head is [`MAGIC`] and the version. A record is its kind (1 byte), the length of its content (8 bytes), a checksum
//! (4 bytes), and the content. All numbers are little-endian.

/// The first bytes of a file.
pub(super) const MAGIC: [u8; 8] = *b"tenoncap";
/// The version of the format.
pub(super) const VERSION: u32 = 1;
/// The length of the head in bytes.
pub(super) const HEAD: usize = MAGIC.len() + 4;
/// The length of the part of a record before its content, in bytes.
pub(super) const RECORD_HEAD: usize = 13;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// The release of the interface and its functions; the first record.
    Interface = 1,
    /// The name of a plugin.
    Plugin = 2,
    /// Bytes that a program passed to a call.
    Content = 3,
    /// A call before it is made.
    Call = 4,
    /// The outcome of a call.
    Outcome = 5,
    /// The hash of bytes that a copy in stream order wrote to the host.
    Arrival = 6,
    /// The end of a capture that was not cut off.
    End = 7,
}

impl RecordKind {
    pub(super) fn of(number: u8) -> Option<Self> {
        use RecordKind::{Arrival, Call, Content, End, Interface, Outcome, Plugin};
        [Interface, Plugin, Content, Call, Outcome, Arrival, End]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// The hash of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hash(pub(super) u128);

impl std::fmt::Display for Hash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The start value of FNV-1a with 128 bits.
pub(super) const HASH_START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
/// The factor of FNV-1a with 128 bits.
pub(super) const HASH_FACTOR: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Hash {
    /// The hash of no bytes.
    pub(super) const EMPTY: Self = Self(HASH_START);

    /// Returns the hash of some bytes: FNV-1a with 128 bits. It is no protection against an attacker.
    pub fn of(bytes: &[u8]) -> Self {
        Self::EMPTY.with(bytes.iter().copied())
    }

    /// Returns the hash of the bytes so far and some more.
    pub(super) fn with(self, bytes: impl Iterator<Item = u8>) -> Self {
        Self(bytes.fold(self.0, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(HASH_FACTOR)))
    }
}

/// Escapes the characters of a text from a file that a terminal would obey, and those that change the order of others.
fn printable(text: &str) -> String {
    let obeyed = |character: char| {
        character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::new();
    for character in text.chars() {
        if obeyed(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    shown
}

/// Returns the checksum of a record: FNV-1a with 32 bits.
pub(super) fn checksum(kind: u8, content: &[u8]) -> u32 {
    let length = (content.len() as u64).to_le_bytes();
    let bytes = std::iter::once(&kind).chain(&length).chain(content);
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns a record.
pub(super) fn record(kind: RecordKind, content: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(RECORD_HEAD + content.len());
    record.push(kind as u8);
    record.extend((content.len() as u64).to_le_bytes());
    record.extend(checksum(kind as u8, content).to_le_bytes());
    record.extend(content);
    record
}

/// The content of a record that is being written.
#[derive(Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn int(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn hash(&mut self, hash: Hash) {
        self.0.extend(hash.0.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// The rest of the content of a record. Its methods return `None` if the content is too short.
pub(super) struct Decoder<'a>(pub(super) &'a [u8]);

impl<'a> Decoder<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn int(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn hash(&mut self) -> Option<Hash> {
        self.array().map(u128::from_le_bytes).map(Hash)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.long()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Returns a text for people, in which characters that a terminal would obey are escaped.
    pub(super) fn text(&mut self) -> Option<String> {
        Some(printable(&String::from_utf8_lossy(self.bytes()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(Hash::of(b"").to_string(), "6c62272e07bb014262b821756295c58d");
        assert_eq!(Hash::of(b"hello").to_string(), "e3e1efd54283d94f7081314b599d31b3");
    }

    #[test]
    fn texts_have_no_character_that_a_terminal_obeys() {
        let mut encoder = Encoder::default();
        encoder.bytes("ä\n\x1b[2J\u{202e}z".as_bytes());
        assert_eq!(Decoder(&encoder.0).text().unwrap(), r"ä\u{a}\u{1b}[2J\u{202e}z");
    }

    #[test]
    fn decoder_returns_none_past_the_end() {
        let mut encoder = Encoder::default();
        encoder.byte(7);
        encoder.bytes(b"abc");
        let mut decoder = Decoder(&encoder.0);
        assert_eq!((decoder.byte(), decoder.bytes(), decoder.int()), (Some(7), Some(&b"abc"[..]), None));
        assert_eq!(Decoder(&u64::MAX.to_le_bytes()).bytes(), None, "a length past the end");
    }
}
