//! The records of a thread that are not written yet: a ring of words, with one writer and one reader.
//!
//! Everything is atomic, so that a signal handler may read while the owner writes.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The words of a ring: 1 MiB, some ten thousand calls.
const WORDS: usize = 1 << 17;

/// The maximum number of words of a record.
pub(super) const MOST: usize = 32;

/// The kind of a record, with its size in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A call: start, end, arguments.
    Call = 1,
    /// A call that changed how much memory is in use: start, end, bytes in use, arguments.
    MemoryCall = 2,
    /// Work of a stream: start, end, lane, device.
    Work = 3,
    /// A new lane: lane, device, stream.
    Lane = 4,
    /// The name of the thread, in two words.
    Thread = 5,
    /// A call of a collective: start, end, rank, number of ranks, bytes, arguments.
    Collective = 6,
}

/// The first word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// All words, this one included.
    pub(super) words: u8,
    pub(super) function: u16,
    pub(super) plugin: u8,
    /// The boolean result: 0: none; 1: true; 2: false.
    pub(super) answer: u8,
    pub(super) status: i16,
}

impl Header {
    #[inline]
    pub(super) fn pack(self) -> u64 {
        self.kind as u64
            | u64::from(self.words) << 8
            | u64::from(self.function) << 16
            | u64::from(self.plugin) << 32
            | u64::from(self.answer) << 40
            | u64::from(self.status.cast_unsigned()) << 48
    }

    pub(super) fn unpack(word: u64) -> Option<Self> {
        let kind = match word as u8 {
            1 => Kind::Call,
            2 => Kind::MemoryCall,
            3 => Kind::Work,
            4 => Kind::Lane,
            5 => Kind::Thread,
            6 => Kind::Collective,
            _ => return None,
        };
        Some(Self {
            kind,
            words: (word >> 8) as u8,
            function: (word >> 16) as u16,
            plugin: (word >> 32) as u8,
            answer: (word >> 40) as u8,
            status: ((word >> 48) as u16).cast_signed(),
        })
    }
}

/// The ring of one thread. Rings are never freed: when their thread has ended, another gets them.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// Number of words written so far; only the owner changes it.
    head: AtomicUsize,
    /// Number of words read so far; only the reader changes it.
    tail: AtomicUsize,
    /// The number that the system gives the owner.
    pub(super) thread: AtomicU64,
    /// True once the owner has ended.
    pub(super) ended: AtomicBool,
}

impl Ring {
    pub(super) fn leak() -> &'static Self {
        // Zeroed pages come from the system untouched, so that a thread that records little costs little.
        let words = Box::into_raw(vec![0_u64; WORDS].into_boxed_slice()) as *mut [AtomicU64];
        // SAFETY: an atomic number has the size, the alignment and the values of a number.
        let words = unsafe { Box::from_raw(words) };
        Box::leak(Box::new(Self {
            words,
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            thread: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }))
    }

    /// Adds a record. Returns how full the ring is, in eighths, or `None` if there is no room.
    #[inline]
    pub(super) fn push(&self, record: &[u64]) -> Option<usize> {
        let head = self.head.load(Ordering::Relaxed);
        let used = head.wrapping_sub(self.tail.load(Ordering::Acquire)) + record.len();
        if used > WORDS {
            return None;
        }
        for (at, word) in record.iter().enumerate() {
            self.words[head.wrapping_add(at) % WORDS].store(*word, Ordering::Relaxed);
        }
        self.head.store(head.wrapping_add(record.len()), Ordering::Release);
        Some(used / (WORDS / 8))
    }

    /// Reads records, the oldest first, until `read` returns false. They stay in the ring until [`Ring::pass`].
    ///
    /// Returns the position where it stopped, for [`Ring::pass`].
    pub(super) fn read(&self, from: usize, mut read: impl FnMut(Header, &[u64]) -> bool) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let mut at = from;
        let mut record = [0; MOST];
        while at != head {
            let word = |at: usize| self.words[at % WORDS].load(Ordering::Relaxed);
            let Some(header) = Header::unpack(word(at)) else { return head };
            let words = usize::from(header.words).clamp(1, MOST);
            for (index, place) in record[..words].iter_mut().enumerate() {
                *place = word(at.wrapping_add(index));
            }
            at = at.wrapping_add(words);
            if !read(header, &record[1..words]) {
                break;
            }
        }
        at
    }

    /// Returns the beginning of the oldest record.
    pub(super) fn oldest(&self) -> usize {
        self.tail.load(Ordering::Relaxed)
    }

    /// Frees the space before a position: all of it has been written.
    pub(super) fn pass(&self, until: usize) {
        self.tail.store(until, Ordering::Release);
    }

    /// Removes all records. Only the owner may call it, and only without a reader.
    pub(super) fn forget(&self) {
        self.tail.store(self.head.load(Ordering::Relaxed), Ordering::Release);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tail.load(Ordering::Relaxed) == self.head.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(words: u8) -> Header {
        Header { kind: Kind::Work, words, function: 93, plugin: 7, answer: 2, status: -3 }
    }

    #[test]
    fn a_header_survives_packing() {
        assert_eq!(Header::unpack(header(12).pack()), Some(header(12)));
        assert_eq!(Header::unpack(0), None);
    }

    #[test]
    fn records_come_back_in_order_and_across_the_end() {
        let ring = Ring::leak();
        for round in 0..100_000u64 {
            ring.push(&[header(3).pack(), round, round * 2]).unwrap();
            let until = ring.read(ring.oldest(), |_, words| {
                assert_eq!(words, [round, round * 2]);
                true
            });
            ring.pass(until);
            assert!(ring.is_empty());
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_and_loses_nothing() {
        let ring = Ring::leak();
        let mut count = 0;
        while ring.push(&[header(2).pack(), count]).is_some() {
            count += 1;
        }
        assert_eq!(count as usize, WORDS / 2);
        let mut seen = 0;
        ring.read(ring.oldest(), |_, words| {
            assert_eq!(words, [seen]);
            seen += 1;
            true
        });
        assert_eq!(seen, count);
    }
}
