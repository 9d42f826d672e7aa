//! Copies and sets bytes: the only place where device memory is accessed.
//!
//! The caller has checked the addresses and holds guards for them. Programs that let two streams
//! access the same bytes without an event between them get unspecified bytes, as on any device.

use crate::executor::parallel::{Bulk, SPLIT_BYTES};
use crate::executor::queue::ReadyQueue;
use tenon::HostPtr;

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// From host memory to a device.
    HostToDevice,
    /// From a device to host memory.
    DeviceToHost,
    /// Within one device.
    DeviceToDevice,
    /// From one device to another.
    PeerToPeer,
}

impl CopyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "copy h2d",
            Self::DeviceToHost => "copy d2h",
            Self::DeviceToDevice => "copy d2d",
            Self::PeerToPeer => "copy p2p",
        }
    }

    /// Returns the call that makes such a copy and waits.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Self::HostToDevice => "memory_copy_h2d",
            Self::DeviceToHost => "memory_copy_d2h",
            Self::DeviceToDevice => "memory_copy_d2d",
            Self::PeerToPeer => "memory_copy_p2p",
        }
    }
}

/// A copy between checked addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCopy {
    dst: usize,
    src: usize,
    pub(crate) len: usize,
}

impl RawCopy {
    /// # Safety
    /// Until the copy is done, `len` bytes at `src` must be readable and `len` bytes at `dst`
    /// writable, from any thread. They may overlap.
    pub(crate) unsafe fn new(dst: usize, src: usize, len: usize) -> Self {
        Self { dst, src, len }
    }

    /// Copies the bytes, with the help of sleeping threads if that is faster.
    pub(crate) fn run(self, ready: &ReadyQueue) {
        let overlaps = self.dst.abs_diff(self.src) < self.len;
        if self.len < SPLIT_BYTES || overlaps {
            self.run_alone();
        } else {
            Bulk::Copy(self).run(ready);
        }
    }

    /// Copies on this thread.
    pub(crate) fn run_alone(self) {
        // SAFETY: `new` requires both ranges to be valid until now; `copy` allows overlap.
        unsafe { std::ptr::copy(self.src as *const u8, self.dst as *mut u8, self.len) };
    }

    /// Returns the part of `len` bytes from `start`, which must be inside.
    pub(crate) fn part(self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len);
        Self { dst: self.dst + start, src: self.src + start, len }
    }
}

/// The bytes that a fill repeats. As each length of an element divides 16, it is kept as a block of 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    block: [u8; Self::BLOCK],
}

impl Pattern {
    const BLOCK: usize = 16;

    /// Creates the pattern of an element of 1, 2, 4, 8 or 16 bytes.
    pub(crate) fn new(element: &[u8]) -> Self {
        debug_assert!(matches!(element.len(), 1 | 2 | 4 | 8 | 16));
        let mut block = [0; Self::BLOCK];
        block.chunks_exact_mut(element.len()).for_each(|part| part.copy_from_slice(element));
        Self { block }
    }

    /// Returns the shortest element with this pattern.
    pub(crate) fn element(&self) -> &[u8] {
        let repeats = |length: &usize| self.block[*length..] == self.block[..Self::BLOCK - *length];
        let length = [1, 2, 4, 8].into_iter().find(repeats).unwrap_or(Self::BLOCK);
        &self.block[..length]
    }

    fn write(&self, place: &mut [u8]) {
        if let [byte] = self.element() {
            return place.fill(*byte);
        }
        let (blocks, rest) = place.as_chunks_mut();
        blocks.fill(self.block);
        rest.copy_from_slice(&self.block[..rest.len()]);
    }
}

/// A fill of checked memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFill {
    dst: usize,
    pattern: Pattern,
    pub(crate) len: usize,
}

impl RawFill {
    /// # Safety
    /// Until the fill is done, `len` bytes at `dst` must be writable from any thread.
    pub(crate) unsafe fn new(dst: usize, pattern: Pattern, len: usize) -> Self {
        Self { dst, pattern, len }
    }

    /// Fills the bytes, with the help of sleeping threads if that is faster.
    pub(crate) fn run(self, ready: &ReadyQueue) {
        if self.len < SPLIT_BYTES {
            self.run_alone();
        } else {
            Bulk::Fill(self).run(ready);
        }
    }

    /// Fills on this thread.
    pub(crate) fn run_alone(self) {
        // SAFETY: `new` requires the range to be valid until now, and it is not empty.
        self.pattern.write(unsafe { HostPtr::from_addr(self.dst).bytes_mut(self.len) });
    }

    /// Returns the part of `len` bytes from `start`, which must be inside and a multiple of 16.
    pub(crate) fn part(self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len && start.is_multiple_of(Pattern::BLOCK));
        Self { dst: self.dst + start, pattern: self.pattern, len }
    }
}
