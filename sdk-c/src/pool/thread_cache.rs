//! Thread caches: freed blocks that a thread can allocate again without waiting for other threads.
//!
//! Each thread has its own cache while there are at most as many threads as caches, and the lock of the cache is then
//! always free. A thread that finds its cache locked uses the next unlocked one.

use std::cell::Cell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tenon::support::Mutex;

use tenon::device::Stream;

use super::size_class::Class;
use super::slab::Block;
use super::stream_epochs::StreamIndex;

/// Number of streams that a thread cache has bins for.
const STREAMS: usize = 4;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Returns the number of the calling thread.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// The thread caches of a pool.
pub(super) struct ThreadCaches(Box<[CacheLine]>);

/// A thread cache on separate cache lines.
#[repr(align(128))]
struct CacheLine(Mutex<ThreadCache>);

/// A locked thread cache. The device must not be called while it is locked.
pub(super) type CacheGuard<'a> = MutexGuard<'a, ThreadCache>;

/// The freed blocks that a thread caches, and its part of the statistics.
#[derive(Default)]
pub(super) struct ThreadCache {
    streams: [Option<Box<StreamBins>>; STREAMS],
    /// Index of the stream to evict next.
    next: usize,
    /// Number of allocations that this cache served.
    pub(super) hits: u64,
    /// Bytes allocated less bytes freed since the last flush to the global counter.
    pub(super) change: isize,
    /// The maximum of `change` since the last flush.
    pub(super) peak: isize,
}

/// The bins of one stream: the blocks that were freed on it, by size class.
pub(super) struct StreamBins {
    pub(super) stream: Stream,
    pub(super) index: StreamIndex,
    pub(super) bins: Vec<Vec<Block>>,
}

impl ThreadCaches {
    pub(super) fn new() -> Self {
        let threads = thread::available_parallelism().map_or(4, usize::from);
        let count = (threads * 4).next_power_of_two().clamp(8, 128);
        ThreadCaches((0..count).map(|_| CacheLine(Mutex::default())).collect())
    }

    /// Locks the cache of the calling thread, or the next one that is unlocked.
    pub(super) fn lock_own(&self) -> CacheGuard<'_> {
        let first = thread_number();
        loop {
            for step in 0..self.0.len() {
                // The number of caches is a power of two.
                let line = &self.0[first.wrapping_add(step) & (self.0.len() - 1)];
                if let Some(cache) = line.0.try_lock() {
                    return cache;
                }
            }
            thread::yield_now();
        }
    }

    /// Locks each cache in turn. The caller holds none of them.
    pub(super) fn lock_each(&self) -> impl Iterator<Item = CacheGuard<'_>> {
        self.0.iter().map(|line| line.0.lock())
    }
}

impl ThreadCache {
    /// Returns the bins of a stream, if this cache has any.
    pub(super) fn bins_of(&mut self, stream: Stream) -> Option<&mut StreamBins> {
        self.streams.iter_mut().flatten().map(Box::as_mut).find(|bins| bins.stream == stream)
    }

    /// Adds empty bins for a stream; returns the bins that it evicted for them.
    pub(super) fn add_bins(
        &mut self,
        stream: Stream,
        index: StreamIndex,
        classes: usize,
    ) -> Option<Box<StreamBins>> {
        let place = self.streams.iter().position(Option::is_none).unwrap_or(self.next % STREAMS);
        self.next = place + 1;
        let bins = (0..classes).map(|_| Vec::new()).collect();
        self.streams[place].replace(Box::new(StreamBins { stream, index, bins }))
    }

    /// Removes the bins of a stream.
    pub(super) fn remove_bins(&mut self, stream: Stream) -> Option<Box<StreamBins>> {
        let is_of_stream = |bins: &StreamBins| bins.stream == stream;
        self.streams.iter_mut().find(|bins| bins.as_deref().is_some_and(is_of_stream))?.take()
    }

    /// Removes the bins of all streams.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Box<StreamBins>> {
        self.streams.iter_mut().filter_map(Option::take)
    }

    /// Takes all blocks of a class, each with the index of its stream.
    pub(super) fn take_class(&mut self, class: Class, mut each: impl FnMut(StreamIndex, Block)) {
        for stream in self.streams.iter_mut().flatten() {
            for block in stream.bins[class].drain(..) {
                each(stream.index, block);
            }
        }
    }

    /// Adds to the bytes in use; negative for a free.
    pub(super) fn add_in_use(&mut self, change: isize) {
        self.change += change;
        self.peak = self.peak.max(self.change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_own_locked_cache_takes_another() {
        let caches = ThreadCaches::new();
        let first = caches.lock_own();
        let others: Vec<_> = (1..caches.0.len()).map(|_| caches.lock_own()).collect();
        assert!(others.iter().all(|other| !std::ptr::eq(&**other, &*first)));
        drop(others);
        drop(first);
        assert_eq!(caches.lock_each().count(), caches.0.len());
    }

    #[test]
    fn add_bins_full_cache_evicts_the_oldest() {
        let mut cache = ThreadCache::default();
        for handle in 1..=STREAMS {
            assert!(cache.add_bins(Stream::from_addr(handle), handle, 1).is_none());
        }
        for handle in STREAMS + 1..100 {
            let evicted = cache.add_bins(Stream::from_addr(handle), handle, 1).map(|bins| bins.index);
            assert_eq!(evicted, Some(handle - STREAMS));
            assert!(cache.bins_of(Stream::from_addr(handle)).is_some());
        }
        assert_eq!(cache.drain().count(), STREAMS);
    }
}
