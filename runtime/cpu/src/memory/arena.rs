//! The memory of one device: a budget, and the share of it in use.

use super::allocation::{Allocation, Freed, Owner};
use super::registry::Registry;
use super::size::{alignment, block_size, host_block_size, largest_block};
use super::system::Region;
use super::{HostStats, MemoryStats, Space};
use crate::error::{Error, Result};
use std::sync::{Arc, MutexGuard, Weak};
use tenon::device::DeviceId;
use tenon::support::Mutex;

/// The least number of [chunks](Arena::chunk) that fit in the memory of a device.
const CHUNKS: usize = 16;
/// The size of the largest chunk in bytes.
const LARGEST_CHUNK: usize = 64 << 20;

/// Allocates from the system within a budget. Keeps no freed memory: hosts cache on their own.
pub(crate) struct Arena {
    device: DeviceId,
    host: bool,
    total: usize,
    registry: Arc<Registry>,
    me: Weak<Arena>,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    used: usize,
    peak: usize,
    allocations: usize,
    /// Freed allocations that guards still keep. Negative for the moment in which the last guard
    /// is dropped before the free has been counted.
    deferred: isize,
    /// Bytes locked in place.
    locked: usize,
}

impl Arena {
    pub(crate) fn new(device: DeviceId, host: bool, total: usize, registry: &Arc<Registry>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            device,
            host,
            total,
            registry: registry.clone(),
            me: me.clone(),
            usage: Mutex::default(),
        })
    }

    /// Allocates `requested` bytes and returns their address.
    pub(crate) fn allocate(&self, requested: usize, space: Space) -> Result<usize> {
        let size = if self.host { host_block_size(requested) } else { block_size(requested) };
        let size = size.filter(|&size| self.reserve(size));
        let Some(size) = size else { return Err(self.out_of_memory(requested, space)) };
        let Some(mut region) = Region::new(size, alignment(size)) else {
            let mut usage = self.lock();
            usage.used -= size;
            usage.allocations -= 1;
            drop(usage);
            return Err(self.out_of_memory(requested, space));
        };
        if self.host && region.lock() {
            self.lock().locked += size;
        }
        let allocation = Arc::new(Allocation::new(region, requested, space, self.device, self.me.clone()));
        self.registry.insert(&allocation);
        Ok(allocation.addr())
    }

    /// Subtracts a new allocation from the budget. Returns false if the budget is too small.
    fn reserve(&self, size: usize) -> bool {
        let mut usage = self.lock();
        let fits = size <= self.total - usage.used;
        if fits {
            usage.used += size;
            usage.peak = usage.peak.max(usage.used);
            usage.allocations += 1;
        }
        fits
    }

    fn release(&self, allocation: &Allocation) -> MutexGuard<'_, Usage> {
        // Removed from the registry first: once the memory is returned, the system may allocate the
        // address again.
        self.registry.remove(allocation.addr());
        let mut usage = self.lock();
        usage.used -= allocation.block_size();
        if allocation.is_locked() {
            usage.locked -= allocation.block_size();
        }
        usage
    }

    /// Returns true if queued work keeps memory that is freed.
    pub(crate) fn has_deferred_frees(&self) -> bool {
        self.lock().deferred > 0
    }

    /// Returns the size of the chunks that a host may take and divide: a small part of the memory, because a host
    /// takes a chunk for its first small request, and allocates what is larger directly.
    pub(crate) fn chunk(&self) -> usize {
        largest_block(self.free_bytes().min(self.total / CHUNKS).min(LARGEST_CHUNK))
    }

    fn free_bytes(&self) -> usize {
        self.total - self.lock().used
    }

    /// Returns the largest request that could succeed if nothing else were allocated.
    pub(crate) fn largest_request_ever(&self) -> usize {
        largest_block(self.total)
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        let usage = self.lock();
        MemoryStats {
            total: self.total,
            used: usage.used,
            free: self.total - usage.used,
            peak: usage.peak,
            allocations: usage.allocations,
        }
    }

    pub(crate) fn host_stats(&self) -> HostStats {
        let usage = self.lock();
        HostStats { used: usage.used, pinned: usage.locked, allocations: usage.allocations }
    }

    fn out_of_memory(&self, requested: usize, space: Space) -> Error {
        Error::OutOfMemory {
            space,
            device: self.device,
            requested,
            free: self.free_bytes(),
            total: self.total,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock()
    }
}

impl Owner for Arena {
    fn free(&self, allocation: Arc<Allocation>, ptr: usize, size: usize) -> Result<()> {
        match allocation.free(ptr, size)? {
            Freed::Now => {
                self.release(&allocation).allocations -= 1;
            }
            Freed::Deferred => {
                let mut usage = self.lock();
                usage.allocations -= 1;
                usage.deferred += 1;
            }
        }
        Ok(())
    }

    fn finish_deferred_free(&self, allocation: &Allocation) {
        self.release(allocation).deferred -= 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn guarded_memory_is_used_until_the_last_guard_is_dropped() {
        let registry = Arc::new(Registry::default());
        let arena = Arena::new(DeviceId(0), false, 4096, &registry);
        let ptr = arena.allocate(100, Space::Device).unwrap();
        let guards = [
            registry.guard_device(DeviceId(0), ptr, 100).unwrap(),
            registry.guard_device(DeviceId(0), ptr, 1).unwrap(),
        ];
        let allocation = registry.find(ptr).unwrap();
        arena.free(allocation.clone(), ptr, 100).unwrap();
        assert_eq!(arena.free(allocation, ptr, 100), Err(Error::DoubleFree { ptr }));
        for guard in guards {
            assert!(arena.has_deferred_frees());
            assert_eq!((arena.stats().used, arena.stats().allocations), (128, 0));
            assert!(registry.guard_device(DeviceId(0), ptr, 1).is_err());
            drop(guard);
        }
        assert!(!arena.has_deferred_frees());
        assert_eq!(arena.stats().used, 0);
        assert!(registry.find(ptr).is_none());
    }

    #[test]
    fn refusal_by_the_system_leaves_the_budget_as_it_was() {
        let registry = Arc::new(Registry::default());
        let arena = Arena::new(DeviceId(0), false, isize::MAX as usize, &registry);
        let error = arena.allocate(isize::MAX as usize - 8191, Space::Unified).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { space: Space::Unified, .. }));
        assert_eq!((arena.stats().used, arena.stats().allocations), (0, 0));
        assert!(arena.allocate(64, Space::Device).is_ok());
    }
}
