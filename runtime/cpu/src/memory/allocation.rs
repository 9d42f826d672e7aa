//! One allocation: its memory, and the guards that keep it.

use super::system::Region;
use super::{PointerInfo, Space};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use tenon::device::DeviceId;

/// Set in `state` until the allocation is freed; the bits below count its guards, of which the
/// caller's own claim is one.
const LIVE: u64 = 1 << 63;

/// The owner of allocations, which counts them.
pub(crate) trait Owner: Send + Sync {
    /// Frees the allocation that starts at `ptr`. It counts as used while guards keep it.
    fn free(&self, allocation: Arc<Allocation>, ptr: usize, size: usize) -> Result<()>;

    /// Ends a free whose allocation was kept by guards until now.
    fn finish_deferred_free(&self, allocation: &Allocation);
}

/// Memory from the moment it is obtained from the system until it is returned.
pub(crate) struct Allocation {
    region: Region,
    requested: usize,
    space: Space,
    pub(crate) device: DeviceId,
    owner: Weak<dyn Owner>,
    state: AtomicU64,
}

/// The outcome of a free.
pub(crate) enum Freed {
    /// No work uses the memory.
    Now,
    /// The last guard will return the memory.
    Deferred,
}

impl Allocation {
    pub(crate) fn new(
        region: Region,
        requested: usize,
        space: Space,
        device: DeviceId,
        owner: Weak<dyn Owner>,
    ) -> Self {
        Self { region, requested, space, device, owner, state: AtomicU64::new(LIVE | 1) }
    }

    pub(crate) fn addr(&self) -> usize {
        self.region.addr()
    }

    /// Returns the size of the memory in bytes; the requested size, rounded up.
    pub(crate) fn block_size(&self) -> usize {
        self.region.size()
    }

    pub(crate) fn space(&self) -> Space {
        self.space
    }

    /// Returns true if the memory is locked in place.
    pub(crate) fn is_locked(&self) -> bool {
        self.region.is_locked()
    }

    /// Ends the allocation, if `ptr` and `size` are those that it began with.
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
            if size != self.requested {
                return Err(Error::SizeMismatch { ptr, given: size, allocated: self.requested });
            }
            let guards = (state & !LIVE) - 1;
            match self.state.compare_exchange_weak(state, guards, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if guards == 0 => return Ok(Freed::Now),
                Ok(_) => return Ok(Freed::Deferred),
                Err(seen) => state = seen,
            }
        }
    }

    /// Frees the allocation, if it is not freed yet, for a device that is shut down.
    pub(crate) fn abandon(self: &Arc<Self>) {
        if let Some(owner) = self.owner.upgrade()
            && self.state.load(Ordering::Acquire) & LIVE != 0
        {
            // It fails only if another thread frees the allocation at the same time.
            _ = owner.free(self.clone(), self.addr(), self.requested);
        }
    }

    /// Keeps the memory from being returned; `None` if the allocation is freed.
    pub(crate) fn guard(self: &Arc<Self>) -> Option<AllocationGuard> {
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & LIVE != 0).then_some(state + 1)
            })
            .ok()
            .map(|_| AllocationGuard(self.clone()))
    }

    /// Fails unless `size` bytes at `ptr` lie inside the allocation.
    pub(crate) fn check_range(&self, ptr: usize, size: usize) -> Result<()> {
        let offset = ptr - self.addr();
        if offset <= self.requested && size <= self.requested - offset {
            Ok(())
        } else {
            Err(Error::OutOfBounds { ptr, size, base: self.addr(), capacity: self.requested })
        }
    }

    pub(crate) fn info(&self) -> PointerInfo {
        PointerInfo {
            space: self.space,
            device: self.device,
            base: self.addr(),
            size: self.requested,
            pinned: self.is_locked(),
        }
    }
}

/// A claim on an allocation that outlives its free.
#[must_use = "the memory may be returned to the system once this is dropped"]
pub(crate) struct AllocationGuard(Arc<Allocation>);

impl AllocationGuard {
    pub(crate) fn allocation(&self) -> &Allocation {
        &self.0
    }
}

impl Clone for AllocationGuard {
    fn clone(&self) -> Self {
        self.0.state.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for AllocationGuard {
    fn drop(&mut self) {
        // The free releases the caller's own claim, so zero means freed.
        if self.0.state.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(owner) = self.0.owner.upgrade()
        {
            owner.finish_deferred_free(&self.0);
        }
    }
}
