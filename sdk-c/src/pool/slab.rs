//! Slabs: allocations of the device that are divided into blocks of one size.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tenon::DevicePtr;

use super::size_class::{Class, PAGE};

/// An allocation of the device, divided into blocks of one class.
#[derive(Debug)]
pub(super) struct Slab {
    pub(super) class: Class,
    /// The allocation as the device returned it.
    pub(super) allocation: DevicePtr,
    pub(super) bytes: usize,
    /// Address of the first block, and distance between blocks.
    base: usize,
    stride: usize,
    /// 2³² / stride, rounded up: finds the block of an address by a multiplication.
    reciprocal: u64,
    /// For each block, true if it is in use.
    used: Box<[AtomicBool]>,
    /// Number of blocks in the central free list. Changes under its lock only.
    pub(super) central_blocks: AtomicUsize,
}

/// The reason for which an address cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotUsed {
    /// It is outside the blocks.
    Outside,
    /// It is inside the block that begins at this address.
    Inside(usize),
    /// The block is free already.
    Free,
}

impl Slab {
    pub(super) fn new(
        class: Class,
        allocation: DevicePtr,
        bytes: usize,
        base: usize,
        stride: usize,
        count: usize,
    ) -> Self {
        Slab {
            class,
            allocation,
            bytes,
            base,
            stride,
            reciprocal: (1_u64 << 32).div_ceil(stride as u64),
            used: (0..count).map(|_| AtomicBool::new(false)).collect(),
            central_blocks: AtomicUsize::new(0),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.used.len()
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the first page and the number of pages in which a block of this slab can begin.
    pub(super) fn pages(&self) -> (usize, usize) {
        let last = self.base + (self.count() - 1) * self.stride;
        (self.base / PAGE, last / PAGE - self.base / PAGE + 1)
    }

    /// Marks the block at an address as free; returns its index.
    pub(super) fn release(&self, address: usize) -> Result<u32, NotUsed> {
        let index = self.index_of(address)?;
        // The swap decides which of two threads frees the block, if both try at once.
        if self.used[index].swap(false, Ordering::AcqRel) { Ok(index as u32) } else { Err(NotUsed::Free) }
    }

    fn index_of(&self, address: usize) -> Result<usize, NotUsed> {
        let offset = address.checked_sub(self.base).ok_or(NotUsed::Outside)?;
        if self.count() == 1 {
            return match offset {
                0 => Ok(0),
                _ if offset < self.stride => Err(NotUsed::Inside(self.base)),
                _ => Err(NotUsed::Outside),
            };
        }
        // The division is exact for the start of every block: all blocks of a slab together have less than 2³² bytes.
        let index = (offset as u64).wrapping_mul(self.reciprocal) as usize >> 32;
        if index < self.count() && index * self.stride == offset {
            return Ok(index);
        }
        let index = offset / self.stride;
        if index < self.count() {
            Err(NotUsed::Inside(self.base + index * self.stride))
        } else {
            Err(NotUsed::Outside)
        }
    }
}

/// A block. Its slab is not freed while a `Block` of it exists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) slab: NonNull<Slab>,
    pub(super) index: u32,
}

// SAFETY: all threads may use the slab, whose mutable fields are atomic.
unsafe impl Send for Block {}

impl Block {
    /// Returns the slab.
    pub(super) fn slab(&self) -> &Slab {
        // SAFETY: a slab is freed only after the central free list had all of its blocks and removed them, so no
        // other `Block` of it exists then.
        unsafe { self.slab.as_ref() }
    }

    /// Marks the block as in use; returns its address.
    pub(super) fn acquire(self) -> DevicePtr {
        let slab = self.slab();
        slab.used[self.index as usize].store(true, Ordering::Relaxed);
        DevicePtr::from_addr(slab.base + self.index as usize * slab.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slab(base: usize, stride: usize, count: usize) -> Slab {
        Slab::new(0, DevicePtr::from_addr(base), stride * count, base, stride, count)
    }

    #[test]
    fn index_of_finds_block_by_first_address_only() {
        for stride in [64, 192, 832, 4096, 7 << 12, 9 << 16, 1 << 20] {
            let count = ((2 << 20) / stride).max(1);
            let base = 5 * PAGE;
            let slab = slab(base, stride, count);
            for index in 0..count {
                let start = base + index * stride;
                assert_eq!(slab.index_of(start), Ok(index));
                assert_eq!(slab.index_of(start + 1), Err(NotUsed::Inside(start)));
                assert_eq!(slab.index_of(start + stride - 1), Err(NotUsed::Inside(start)));
            }
            assert_eq!(slab.index_of(base - 1), Err(NotUsed::Outside));
            assert_eq!(slab.index_of(base + stride * count), Err(NotUsed::Outside));
            assert_eq!(slab.index_of(usize::MAX), Err(NotUsed::Outside));
        }
    }

    #[test]
    fn release_twice_fails() {
        let slab = slab(PAGE, 64, 4);
        let block = Block { slab: NonNull::from(&slab), index: 2 };
        let address = block.acquire().addr();
        assert_eq!(slab.release(address), Ok(2));
        assert_eq!(slab.release(address), Err(NotUsed::Free));
        assert_eq!(slab.release(PAGE), Err(NotUsed::Free));
    }

    #[test]
    fn pages_contains_only_pages_where_blocks_begin() {
        assert_eq!(slab(8 * PAGE, 64, 64).pages(), (8, 1));
        assert_eq!(slab(8 * PAGE, 64, 65).pages(), (8, 2));
        assert_eq!(slab(8 * PAGE + 256, 1 << 30, 1).pages(), (8, 1));
    }
}
