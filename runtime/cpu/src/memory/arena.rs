//! One device's memory: a budget, what is used of it, and a cache of freed blocks.

use super::block::{Block, Freed};
use super::cache::Cache;
use super::registry::Registry;
use super::size::{alignment, block_size, host_block_size, largest_block};
use super::system::Region;
use super::{HostStats, MemoryStats, Space};
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The cache holds at most this part of the budget: enough for a training step's temporaries,
/// without keeping half of the machine from everybody else.
const CACHED_PART: usize = 2;

/// A budgeted allocator.
pub(crate) struct Arena {
    device: usize,
    host: bool,
    total: usize,
    registry: Arc<Registry>,
    me: Weak<Arena>,
    state: Mutex<State>,
}

struct State {
    cache: Cache,
    used: usize,
    peak: usize,
    allocations: usize,
    /// Freed blocks that are still pinned. Negative for the moment in which the last pin goes
    /// before the free has been counted.
    late: isize,
    /// Locked bytes, used and cached.
    locked: usize,
}

impl Arena {
    pub(crate) fn new(device: usize, host: bool, total: usize, registry: &Arc<Registry>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            device,
            host,
            total,
            registry: registry.clone(),
            me: me.clone(),
            state: Mutex::new(State {
                cache: Cache::new(),
                used: 0,
                peak: 0,
                allocations: 0,
                late: 0,
                locked: 0,
            }),
        })
    }

    /// Allocates a block for `requested` bytes and answers its address.
    pub(crate) fn allocate(&self, requested: usize, space: Space) -> Result<usize> {
        let size = if self.host { host_block_size(requested) } else { block_size(requested) };
        let Some(size) = size else { return Err(self.out_of_memory(requested, space)) };
        let mut state = self.lock();
        if let Some(block) = state.cache.take(size) {
            state.use_block(block.capacity());
            block.activate(requested, space);
            return Ok(block.addr());
        }
        if size > self.total - state.used {
            drop(state);
            return Err(self.out_of_memory(requested, space));
        }
        state.use_block(size);
        let room = self.total - state.used;
        let evicted = state.cache.shrink_to(room);
        drop(state);
        self.give_back(evicted);
        self.obtain(size, requested, space)
    }

    /// Gets a block from the system, for which the budget has room.
    fn obtain(&self, size: usize, requested: usize, space: Space) -> Result<usize> {
        let region = Region::new(size, alignment(size)).or_else(|| {
            self.trim();
            Region::new(size, alignment(size))
        });
        let Some(mut region) = region else {
            self.lock().unuse(size);
            return Err(self.out_of_memory(requested, space));
        };
        if self.host {
            region.lock();
            self.lock().locked += if region.is_locked() { size } else { 0 };
        }
        let block = Arc::new(Block::new(region, size, self.device, self.host, self.me.clone()));
        block.activate(requested, space);
        self.registry.insert(&block);
        Ok(block.addr())
    }

    /// Frees the allocation that starts at `ptr`. The block stays used while it is pinned.
    pub(crate) fn free(&self, block: Arc<Block>, ptr: usize, size: usize) -> Result<()> {
        match block.free(ptr, size)? {
            Freed::Now => self.take_back(block, false),
            Freed::Later => {
                let mut state = self.lock();
                state.allocations -= 1;
                state.late += 1;
            }
        }
        Ok(())
    }

    /// Takes a block back whose last pin came after its free.
    pub(crate) fn take_back_late(&self, block: Arc<Block>) {
        self.take_back(block, true);
    }

    fn take_back(&self, block: Arc<Block>, late: bool) {
        let mut state = self.lock();
        state.used -= block.capacity();
        if late {
            state.late -= 1;
        } else {
            state.allocations -= 1;
        }
        state.cache.put(block);
        let most = self.total / CACHED_PART;
        if state.cache.bytes() > most {
            let evicted = state.cache.shrink_to(most);
            drop(state);
            self.give_back(evicted);
        }
    }

    /// Gives everything in the cache back to the system; answers how many bytes that were.
    pub(crate) fn trim(&self) -> usize {
        let evicted = self.lock().cache.shrink_to(0);
        let bytes = evicted.iter().map(|block| block.capacity()).sum();
        self.give_back(evicted);
        bytes
    }

    fn give_back(&self, blocks: Vec<Arc<Block>>) {
        if blocks.is_empty() {
            return;
        }
        let locked: usize = blocks.iter().filter(|b| b.is_pinned_host()).map(|b| b.capacity()).sum();
        if locked > 0 {
            self.lock().locked -= locked;
        }
        // Out of the registry first: the system may give the addresses to somebody else.
        self.registry.remove(&blocks);
        drop(blocks);
    }

    /// Whether freed blocks wait for queued work to finish.
    pub(crate) fn has_late_blocks(&self) -> bool {
        self.lock().late > 0
    }

    /// The largest request that could succeed now, if the system has the memory.
    pub(crate) fn largest_request(&self) -> usize {
        largest_block(self.free_bytes())
    }

    fn free_bytes(&self) -> usize {
        self.total - self.lock().used
    }

    /// The largest request that could succeed if nothing else were allocated.
    pub(crate) fn largest_request_ever(&self) -> usize {
        largest_block(self.total)
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        let state = self.lock();
        MemoryStats {
            total: self.total,
            used: state.used,
            free: self.total - state.used,
            cached: state.cache.bytes(),
            peak: state.peak,
            allocations: state.allocations,
        }
    }

    pub(crate) fn host_stats(&self) -> HostStats {
        let state = self.lock();
        HostStats {
            used: state.used,
            pinned: state.locked,
            cached: state.cache.bytes(),
            allocations: state.allocations,
        }
    }

    pub(crate) fn out_of_memory(&self, requested: usize, space: Space) -> Error {
        Error::OutOfMemory {
            space,
            device: self.device,
            requested,
            free: self.free_bytes(),
            total: self.total,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn use_block(&mut self, size: usize) {
        self.used += size;
        self.peak = self.peak.max(self.used);
        self.allocations += 1;
    }

    fn unuse(&mut self, size: usize) {
        self.used -= size;
        self.allocations -= 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_block_is_late_and_used_until_the_last_pin_goes() {
        let registry = Arc::new(Registry::default());
        let arena = Arena::new(0, false, 4096, &registry);
        let ptr = arena.allocate(100, Space::Device).unwrap();
        let pins = [registry.pin_device(0, ptr, 100).unwrap(), registry.pin_device(0, ptr, 1).unwrap()];
        let block = registry.find(ptr).unwrap();
        arena.free(block.clone(), ptr, 100).unwrap();
        assert_eq!(arena.free(block, ptr, 100), Err(Error::DoubleFree { ptr }));
        for pin in pins {
            assert!(arena.has_late_blocks());
            assert_eq!((arena.stats().used, arena.stats().allocations), (128, 0));
            drop(pin);
        }
        assert!(!arena.has_late_blocks());
        assert_eq!((arena.stats().used, arena.stats().cached), (0, 128));
        assert!(registry.pin_device(0, ptr, 1).is_err());
    }

    #[test]
    fn what_the_system_refuses_leaves_the_budget_as_it_was() {
        let registry = Arc::new(Registry::default());
        let arena = Arena::new(0, false, isize::MAX as usize, &registry);
        let error = arena.allocate(isize::MAX as usize - 8191, Space::Unified).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { space: Space::Unified, .. }));
        assert_eq!((arena.stats().used, arena.stats().allocations), (0, 0));
        assert!(arena.allocate(64, Space::Device).is_ok());
    }
}
