//! Copies and sets bytes: the only place where device memory is accessed.
//!
//! The caller has checked the addresses and holds guards for them. Programs that let two streams
//! access the same bytes without an event between them get unspecified bytes, as on any device.

use crate::executor::parallel::{Bulk, SPLIT_BYTES, Split};
use crate::executor::queue::ReadyQueue;

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

    /// Copies, with the help of sleeping threads where that is faster.
    pub(crate) fn run(self, ready: &ReadyQueue) {
        let overlaps = self.dst.abs_diff(self.src) < self.len;
        if self.len < SPLIT_BYTES || overlaps {
            self.run_alone();
        } else {
            Split::run(Bulk::Copy(self), ready);
        }
    }

    /// Copies on this thread.
    pub(crate) fn run_alone(self) {
        // SAFETY: `new` requires both ranges to be valid until now; `copy` allows overlap.
        unsafe { std::ptr::copy(self.src as *const u8, self.dst as *mut u8, self.len) };
    }

    /// The part of `len` bytes from `start`, which must lie inside.
    pub(crate) fn part(self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len);
        Self { dst: self.dst + start, src: self.src + start, len }
    }
}

/// A fill of checked memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFill {
    dst: usize,
    value: u8,
    pub(crate) len: usize,
}

impl RawFill {
    /// # Safety
    /// Until the fill is done, `len` bytes at `dst` must be writable from any thread.
    pub(crate) unsafe fn new(dst: usize, value: u8, len: usize) -> Self {
        Self { dst, value, len }
    }

    /// Fills, with the help of sleeping threads where that is faster.
    pub(crate) fn run(self, ready: &ReadyQueue) {
        if self.len < SPLIT_BYTES {
            self.run_alone();
        } else {
            Split::run(Bulk::Fill(self), ready);
        }
    }

    /// Fills on this thread.
    pub(crate) fn run_alone(self) {
        // SAFETY: `new` requires the range to be valid until now.
        unsafe { std::ptr::write_bytes(self.dst as *mut u8, self.value, self.len) };
    }

    /// The part of `len` bytes from `start`, which must lie inside.
    pub(crate) fn part(self, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= self.len);
        Self { dst: self.dst + start, value: self.value, len }
    }
}
