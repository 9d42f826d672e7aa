//! Host memory that detects writes past its ends.

use crate::case::{Verdict, ensure};

/// Bytes before and behind.
const GUARD: usize = 64;

const GUARD_BYTE: u8 = 0xC3;

/// A buffer with guards before and behind it, aligned for every type.
pub(crate) struct GuardedBuffer {
    words: Vec<u128>,
    len: usize,
}

impl GuardedBuffer {
    /// Creates a buffer filled with one byte.
    pub(crate) fn new(len: usize, byte: u8) -> Self {
        let words = (len + 2 * GUARD).div_ceil(size_of::<u128>());
        let mut buffer = Self { words: vec![u128::from_ne_bytes([GUARD_BYTE; 16]); words], len };
        buffer.bytes_mut().fill(byte);
        buffer
    }

    /// Creates a buffer that holds these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut buffer = Self::new(bytes.len(), 0);
        buffer.bytes_mut().copy_from_slice(bytes);
        buffer
    }

    fn all(&self) -> &[u8] {
        // SAFETY: the words are initialised, and any bytes are bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 16) }
    }

    /// Returns the current content. A wrong device may write later, so the content must be read once and then judged.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let start = self.words.as_ptr().cast::<u8>();
        // SAFETY: the words hold the guard and as many bytes behind it; volatile, since a device may write meanwhile.
        (GUARD..GUARD + self.len).map(|index| unsafe { start.add(index).read_volatile() }).collect()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        // SAFETY: as in `all`, and any bytes are words.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 16)
        };
        &mut all[GUARD..GUARD + len]
    }

    /// Returns the argument for a call.
    pub(crate) fn address(&mut self) -> u64 {
        // A pointer into the whole buffer, so that a write past the end hits the guard and no other memory.
        let start = self.words.as_mut_ptr().expose_provenance();
        (start + GUARD) as u64
    }

    /// Fails if a byte before or behind it was written.
    pub(crate) fn intact(&self, what: &str) -> Verdict {
        let (before, rest) = self.all().split_at(GUARD);
        ensure!(before.iter().all(|byte| *byte == GUARD_BYTE), "wrote before the start of {what}");
        let written = rest[self.len..].iter().rposition(|byte| *byte != GUARD_BYTE);
        ensure!(
            written.is_none(),
            "wrote {} bytes past the end of {what}, which has {}",
            written.unwrap_or_default() + 1,
            self.len
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::GuardedBuffer;

    #[test]
    fn bytes_that_were_read_do_not_change_with_the_buffer() {
        let mut buffer = GuardedBuffer::new(8, 1);
        let seen = buffer.bytes();
        buffer.bytes_mut().fill(2);
        assert_eq!((seen, buffer.bytes()), (vec![1; 8], vec![2; 8]));
    }
}
