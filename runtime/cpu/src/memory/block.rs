//! One block of memory, and who may still use it.

use super::arena::Arena;
use super::system::Region;
use super::{PointerInfo, Space};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Set in `state` while the block is allocated; the bits below count its pins, of which the
/// allocation itself is one.
const LIVE: u64 = 1 << 63;

/// A block, from the day that it is obtained from the system until it is given back.
pub(crate) struct Block {
    region: Region,
    capacity: usize,
    pub(crate) device: usize,
    home: Weak<Arena>,
    host: bool,
    unified: AtomicBool,
    requested: AtomicUsize,
    state: AtomicU64,
}

/// What remains to be done after a free.
pub(crate) enum Freed {
    /// Nobody uses the block.
    Now,
    /// The last pin will give the block back.
    Later,
}

impl Block {
    pub(crate) fn new(region: Region, capacity: usize, device: usize, host: bool, home: Weak<Arena>) -> Self {
        Self {
            region,
            capacity,
            device,
            home,
            host,
            unified: AtomicBool::new(false),
            requested: AtomicUsize::new(0),
            state: AtomicU64::new(0),
        }
    }

    pub(crate) fn addr(&self) -> usize {
        self.region.addr()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn is_pinned_host(&self) -> bool {
        self.region.is_locked()
    }

    pub(crate) fn space(&self) -> Space {
        if self.host {
            Space::Host
        } else if self.unified.load(Ordering::Relaxed) {
            Space::Unified
        } else {
            Space::Device
        }
    }

    /// Hands the block out. Only its arena does this, with a block that nobody knows of.
    pub(crate) fn activate(&self, requested: usize, space: Space) {
        self.requested.store(requested, Ordering::Relaxed);
        self.unified.store(space == Space::Unified, Ordering::Relaxed);
        self.state.store(LIVE | 1, Ordering::Release);
    }

    /// Ends the allocation, if `ptr` and `size` are what it began with.
    pub(crate) fn free(&self, ptr: usize, size: usize) -> Result<Freed> {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            if state & LIVE == 0 {
                return Err(if ptr == self.addr() {
                    Error::DoubleFree { ptr }
                } else {
                    Error::UnknownPointer { ptr }
                });
            }
            if ptr != self.addr() {
                return Err(Error::NotStart { ptr, base: self.addr() });
            }
            let allocated = self.requested.load(Ordering::Relaxed);
            if size != allocated {
                return Err(Error::SizeMismatch { ptr, given: size, allocated });
            }
            let rest = (state & !LIVE) - 1;
            match self.state.compare_exchange_weak(state, rest, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if rest == 0 => return Ok(Freed::Now),
                Ok(_) => return Ok(Freed::Later),
                Err(seen) => state = seen,
            }
        }
    }

    /// Ends the allocation, if there is one, for a device that is shut down.
    pub(crate) fn abandon(self: &Arc<Self>) {
        if let (Some(arena), size) = (self.home.upgrade(), self.requested())
            && self.state.load(Ordering::Acquire) & LIVE != 0
        {
            // It fails only where another thread frees the block at this moment.
            _ = arena.free(self.clone(), self.addr(), size);
        }
    }

    /// Keeps the block from being given back; none if it is not allocated.
    pub(crate) fn pin(self: &Arc<Self>) -> Option<Pin> {
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & LIVE != 0).then_some(state + 1)
            })
            .ok()
            .map(|_| Pin(self.clone()))
    }

    /// Whether `size` bytes at `ptr` lie inside the allocation.
    pub(crate) fn check_range(&self, ptr: usize, size: usize) -> Result<()> {
        let capacity = self.requested.load(Ordering::Relaxed);
        let offset = ptr - self.addr();
        if offset <= capacity && size <= capacity - offset {
            Ok(())
        } else {
            Err(Error::OutOfBounds { ptr, size, base: self.addr(), capacity })
        }
    }

    pub(crate) fn info(&self) -> PointerInfo {
        PointerInfo {
            space: self.space(),
            device: self.device,
            base: self.addr(),
            size: self.requested.load(Ordering::Relaxed),
            pinned: self.is_pinned_host(),
        }
    }

    pub(crate) fn requested(&self) -> usize {
        self.requested.load(Ordering::Relaxed)
    }
}

/// A claim on a block that outlives its free.
pub(crate) struct Pin(Arc<Block>);

impl Pin {
    pub(crate) fn block(&self) -> &Block {
        &self.0
    }
}

impl Clone for Pin {
    fn clone(&self) -> Self {
        self.0.state.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // The allocation's own pin is the last to go while it is live, so zero means freed.
        if self.0.state.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(arena) = self.0.home.upgrade()
        {
            arena.take_back_late(self.0.clone());
        }
    }
}
