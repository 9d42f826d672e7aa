//! A stream-ordered memory pool for one device. Allocation is slow on devices, and some wait for all of their work
//! before they free memory. The pool allocates slabs from the device, caches freed blocks, and reuses them. The host
//! never accesses the memory: the metadata of blocks is stored elsewhere, so that every address is looked up
//! before it is used.
//!
//! # When a freed block may be used again
//!
//! By freeing a block on a stream, the caller promises to queue no more work that uses the block on that
//! stream. Work that was queued there before may not have run yet. So
//!
//! * the same stream may reuse the block at once: its new work runs after that work;
//! * another stream may reuse it once the first one has passed the point of the free. The pool detects this
//!   lazily, with an event: a free records nothing. When another stream needs such blocks, the pool records
//!   one event after everything that was freed on the first stream so far, and queries it. Blocks whose event
//!   is not complete are not reused; the pool allocates from the device instead. No call waits. (A device
//!   without `query_event` cannot be queried without waiting: the spec's fallback waits here.)
//!
//! A caller that uses a block on one stream and frees it on another must order the two, with an event, as for
//! any other memory. A stream must be [retired](Pool::retire) before it is destroyed.
//!
//! This is the rule of CUDA's stream-ordered allocator (`cudaMallocAsync`, `cudaFreeAsync`), which may reuse
//! at once within a stream and across streams where an order is established or the work is seen to be done;
//! and of PyTorch's caching allocator, which keeps blocks with the stream that allocated them and records an
//! event for each other stream that used them. Here the blocks follow the stream that freed them.
//!
//! # Sizes and waste
//!
//! A block is a multiple of the alignment, which is the device's [`Device::device_min_chunk_size`] and at
//! least 64 bytes, or 256 if the device has no such function. From eight times the alignment, there are eight
//! size classes per power of two. So a block exceeds its request by at most an eighth, or by less than one
//! alignment.
//!
//! Blocks up to 1 MiB are cut from slabs: allocations of the device that grow from 64 KiB to 2 MiB with the
//! use of their size class, so that a device with large pages does not make many small allocations. A slab
//! loses less than a page of 4 KiB at its end, and as much at its beginning if the device's addresses are not
//! aligned to pages. Larger blocks are allocations of the device, one each.
//!
//! Blocks keep their size class; they are not merged or split again. This keeps both paths short and bounds
//! the waste: models allocate the same sizes step after step, and a block that fits exactly leaves no
//! unusable remainder. The cost arises when sizes change for good: then blocks of the old sizes stay idle
//! until the device runs out of memory, or until [`Pool::trim`]. When the device is out of memory, the pool
//! frees every unused slab and tries once more before it fails.
//!
//! # Validation
//!
//! Under the validation layer there is no pool, see [`direct`].
//!
//! # Threads
//!
//! All functions may be called from any thread. Each thread caches up to 64 freed blocks or 1 MiB (and at
//! least four blocks) of each size up to 1 MiB, for each of four streams: it allocates and frees these
//! without waiting for other threads. Other threads can still get this memory: before the pool allocates more
//! of a size from the device, it takes the blocks of that size from the other threads' caches. No lock is
//! held while the device is called, so the pool may be entered from inside such a call, also by a stream
//! callback if its device may be called from there; the public documentation does not promise this.

mod allocator;
mod central;
mod direct;
mod error;
mod page_map;
mod refill;
mod size_class;
mod slab;
mod stream_epochs;
#[cfg(test)]
mod tests;
mod thread_cache;

use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Stream};

pub use allocator::Allocator;
pub use error::PoolError;

use central::CentralFreeList;
use page_map::PageMap;
use size_class::{Class, Classes, PAGE};
use slab::{Block, NotUsed};
use stream_epochs::Step;
use thread_cache::{CacheGuard, ThreadCache, ThreadCaches};

/// The minimum alignment, and the default if the device does not state one, which is that of `cudaMalloc`.
const LEAST_ALIGNMENT: usize = 64;
const USUAL_ALIGNMENT: usize = 256;
const LARGEST_ALIGNMENT: usize = 2 << 20;

/// Bytes a thread cache may accumulate before flushing to the global counter; the peak can be off by as much
/// per thread.
const MAX_UNFLUSHED: isize = 1 << 20;

/// Statistics of a pool. Sizes are in bytes and count blocks, which may be larger than the requests.
///
/// While other threads allocate and free, the figures may be from slightly different moments.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Bytes in use.
    pub in_use: usize,
    /// Unused bytes that the pool has allocated from the device.
    pub cached: usize,
    /// Peak of the bytes in use. It may be off by 1 MiB per thread.
    pub peak: usize,
    /// Bytes allocated from the device.
    pub from_device: usize,
    /// Number of allocations that needed no device call.
    pub hits: u64,
    /// Number of allocations for which the pool allocated from the device.
    pub misses: u64,
    /// Number of device allocations that were divided into several blocks.
    pub splits: u64,
}

/// A memory pool for one device. It must be dropped before the device is finalised. Dropping it frees all memory,
/// including blocks in use.
pub struct Pool {
    device: Arc<dyn Device>,
    id: DeviceId,
    classes: Classes,
    /// Alignment of slabs.
    page: usize,
    pages: PageMap,
    caches: ThreadCaches,
    central: Mutex<CentralFreeList>,
    used: AtomicIsize,
    peak: AtomicIsize,
    /// True once the device returned memory that is not aligned to pages.
    is_unaligned: AtomicBool,
}

impl Pool {
    /// Creates an empty pool for a device.
    ///
    /// # Errors
    /// [`PoolError::HostMemory`].
    pub fn new(device: Arc<dyn Device>, id: DeviceId) -> Result<Self, PoolError> {
        let alignment = match device.device_min_chunk_size(id) {
            Ok(0) | Err(_) => USUAL_ALIGNMENT,
            Ok(unit) => unit.clamp(LEAST_ALIGNMENT, LARGEST_ALIGNMENT).next_power_of_two(),
        };
        Ok(Pool {
            device,
            id,
            classes: Classes::new(alignment),
            page: PAGE.max(alignment),
            pages: PageMap::new().map_err(|_| PoolError::HostMemory)?,
            caches: ThreadCaches::new(),
            central: Mutex::default(),
            used: AtomicIsize::new(0),
            peak: AtomicIsize::new(0),
            is_unaligned: AtomicBool::new(false),
        })
    }

    /// Allocates a block of at least `size` bytes for work on a stream. Its content is undefined. `size` may
    /// be 0.
    ///
    /// # Errors
    /// [`PoolError::TooLarge`], [`PoolError::OutOfMemory`], [`PoolError::HostMemory`], or the error of the
    /// device.
    pub fn allocate(&self, size: usize, stream: Stream) -> Result<DevicePtr, PoolError> {
        let class = self.classes.of(size).ok_or(PoolError::TooLarge { size })?;
        if class < self.classes.cut() {
            let mut cache = self.caches.lock_own();
            let at_hand = match cache.bins_of(stream) {
                Some(bins) => bins.bins[class].pop(),
                None => None,
            };
            if let Some(block) = at_hand.or_else(|| self.refill(&mut cache, class, stream)) {
                cache.hits += 1;
                return Ok(self.hand_out(cache, block));
            }
        }
        let block = self.find(class, stream).or_else(|_| self.obtain(class, size))?;
        Ok(self.hand_out(self.caches.lock_own(), block))
    }

    /// Frees a block. No work that is queued on another stream may use it, and no later work on this stream. Ignores
    /// a null address.
    ///
    /// # Errors
    /// [`PoolError::Unknown`], [`PoolError::Inside`] or [`PoolError::Free`].
    pub fn free(&self, ptr: DevicePtr, stream: Stream) -> Result<(), PoolError> {
        if ptr.is_null() {
            return Ok(());
        }
        let mut cache = self.caches.lock_own();
        let slab = self.pages.find(ptr.addr()).ok_or(PoolError::Unknown { ptr })?;
        // Slabs leave the map only while all thread caches are locked, and this one is locked.
        let slab = Block { slab, index: 0 };
        let index = slab.slab().release(ptr.addr()).map_err(|reason| match reason {
            NotUsed::Outside => PoolError::Unknown { ptr },
            NotUsed::Inside(start) => PoolError::Inside { ptr, start: DevicePtr::from_addr(start) },
            NotUsed::Free => PoolError::Free { ptr },
        })?;
        let block = Block { index, ..slab };
        self.account(&mut cache, -(block.slab().stride() as isize));
        let class = block.slab().class;
        if class >= self.classes.cut() {
            drop(cache);
            let mut central = self.central();
            let index = central.epochs.index(stream);
            central.add(index, block);
            return Ok(());
        }
        if cache.bins_of(stream).is_none() {
            self.add_bins(&mut cache, stream);
        }
        if let Some(bins) = cache.bins_of(stream) {
            let blocks = &mut bins.bins[class];
            blocks.push(block);
            let max = self.classes.kept(class);
            if blocks.len() > max {
                let mut central = self.central();
                // Flushes the older half: the processor's caches contain the blocks that were freed last.
                blocks.drain(..blocks.len() - max / 2).for_each(|block| central.add(bins.index, block));
            }
        }
        Ok(())
    }

    /// Retires a stream. Call it before the stream is destroyed, after the last free on it. Otherwise a new
    /// stream with the same handle could reuse blocks that were freed on the old stream too soon.
    pub fn retire(&self, stream: Stream) {
        // The default stream is never destroyed.
        if stream.is_null() {
            return;
        }
        for mut cache in self.caches.lock_each() {
            if let Some(bins) = cache.remove_bins(stream) {
                self.central().add_bins(*bins);
            }
        }
        let Some(index) = self.central().epochs.known(stream) else { return };
        // Another thread is polling the stream and still needs its entry.
        while !self.central().epochs.begin_poll(index) {
            std::thread::yield_now();
        }
        let step = self.central().epochs.close_open(index);
        if matches!(step, Step::Record(..)) && !self.poll(index, step) {
            // Without an event, the host can only wait for the stream.
            if self.device.synchronize_stream(self.id, stream).is_ok() {
                self.central().epochs.complete_all(index);
            }
        }
        let mut central = self.central();
        central.epochs.forget(index);
        central.epochs.end_poll(index);
    }

    /// Frees cached memory until at most `keep` bytes are cached, or until only slabs with blocks in use remain.
    /// Returns the number of bytes that were freed.
    ///
    /// # Errors
    /// The error of the device. Memory that it failed to free stays in the pool; all other memory has been
    /// freed.
    pub fn trim(&self, keep: usize) -> Result<usize, PoolError> {
        match self.give_back(keep) {
            (given, None) => Ok(given),
            (_, Some(error)) => Err(PoolError::Device(error)),
        }
    }

    /// Returns the statistics of the pool.
    pub fn statistics(&self) -> PoolStatistics {
        let mut hits = 0;
        for mut cache in self.caches.lock_each() {
            hits += cache.hits;
            self.flush(&mut cache);
        }
        let central = self.central();
        let in_use = self.in_use();
        PoolStatistics {
            in_use,
            cached: central.from_device.saturating_sub(in_use),
            peak: self.peak.load(Ordering::Relaxed).max(0).cast_unsigned(),
            from_device: central.from_device,
            hits: hits + central.hits,
            misses: central.misses,
            splits: central.splits,
        }
    }

    fn central(&self) -> MutexGuard<'_, CentralFreeList> {
        // A panic cannot leave inconsistent state: no foreign code runs under the lock.
        self.central.lock()
    }

    fn hand_out(&self, mut cache: CacheGuard<'_>, block: Block) -> DevicePtr {
        self.account(&mut cache, block.slab().stride() as isize);
        block.acquire()
    }

    fn account(&self, cache: &mut ThreadCache, change: isize) {
        cache.add_in_use(change);
        if cache.change.abs() > MAX_UNFLUSHED {
            self.flush(cache);
        }
    }

    /// Flushes the counters of a thread cache to the global ones.
    fn flush(&self, cache: &mut ThreadCache) {
        let (change, top) = (std::mem::take(&mut cache.change), std::mem::take(&mut cache.peak));
        let before = self.used.fetch_add(change, Ordering::Relaxed);
        self.peak.fetch_max(before + top, Ordering::Relaxed);
    }

    fn in_use(&self) -> usize {
        // One cache may flush a free before another one flushes the allocation, so the sum may be negative.
        self.used.load(Ordering::Relaxed).max(0).cast_unsigned()
    }

    /// Refills the bin of a thread cache from the central free list, and takes one block.
    #[cold]
    fn refill(&self, cache: &mut ThreadCache, class: Class, stream: Stream) -> Option<Block> {
        if cache.bins_of(stream).is_none() {
            self.add_bins(cache, stream);
        }
        let bins = cache.bins_of(stream)?;
        let max = self.classes.kept(class).div_ceil(2);
        let mut first = None;
        self.central().take(class, bins.index, max, |block| match first {
            None => first = Some(block),
            Some(_) => bins.bins[class].push(block),
        });
        first
    }

    #[cold]
    fn add_bins(&self, cache: &mut ThreadCache, stream: Stream) {
        let mut central = self.central();
        let index = central.epochs.index(stream);
        if let Some(bins) = cache.add_bins(stream, index, self.classes.cut()) {
            central.add_bins(*bins);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let central = self.central.get_mut();
        for event in central.epochs.drain_events() {
            // Retries after a failure. A drop cannot return errors, and the device destroys its remaining events when
            // it is finalised.
            let _ = self
                .device
                .destroy_event(self.id, event)
                .or_else(|_| self.device.destroy_event(self.id, event));
        }
        for (at, bytes) in central.take_unusable() {
            let _ = self.device.device_memory_deallocate(self.id, at, bytes);
        }
        for slab in central.drain() {
            // SAFETY: the pointer came from a box, and the pool is not used any more.
            let slab = unsafe { Box::from_raw(slab.as_ptr()) };
            let _ = self.device.device_memory_deallocate(self.id, slab.allocation, slab.bytes);
        }
    }
}
