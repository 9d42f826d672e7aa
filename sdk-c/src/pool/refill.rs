//! Refill: when a thread's cache is empty, takes blocks from other threads, other streams or the device. Also frees
//! device memory.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use tenon::DevicePtr;
use tenon::device::{CaptureStatus, Error, Status, Stream};

use super::central::DetachedSlab;
use super::size_class::Class;
use super::slab::{Block, Slab};
use super::stream_epochs::{Step, StreamIndex};
use super::thread_cache::CacheGuard;
use super::{Pool, PoolError};

/// No block of the pool can be used.
pub(super) struct NotFound;

impl Pool {
    /// Finds a block that the stream can use anywhere in the pool.
    #[cold]
    pub(super) fn find(&self, class: Class, stream: Stream) -> Result<Block, NotFound> {
        if class < self.classes.cut() {
            for mut cache in self.caches.lock_each() {
                let mut central = self.central();
                cache.take_class(class, |index, block| central.add(index, block));
            }
        }
        let (index, others) = {
            let mut central = self.central();
            let index = central.epochs.index(stream);
            if let Some(block) = central.take_one(class, index) {
                return Ok(block);
            }
            (index, central.pending_streams(class, index))
        };
        for other in others {
            if !self.central().epochs.begin_poll(other) {
                continue;
            }
            let first = self.central().epochs.first_step(other);
            self.poll(other, first);
            let mut central = self.central();
            central.epochs.end_poll(other);
            if let Some(block) = central.take_one(class, index) {
                return Ok(block);
            }
        }
        Err(NotFound)
    }

    /// Calls the device for the steps of a stream; returns false if a call failed.
    pub(super) fn poll(&self, index: StreamIndex, first: Step) -> bool {
        let mut step = first;
        loop {
            step = match step {
                Step::Done => return true,
                Step::Query(event) => match self.device.query_event(self.id, event) {
                    Ok(done) => self.central().epochs.queried(index, done),
                    // The event counts as pending. A captured event can never be queried, so the next poll uses
                    // another one.
                    Err(_) => {
                        let event = self.central().epochs.query_failed(index);
                        if let Some(event) = event
                            && self.device.destroy_event(self.id, event).is_err()
                        {
                            self.central().epochs.add_spare_event(event);
                        }
                        return false;
                    }
                },
                // Recording the event would make it part of the capture.
                Step::Record(stream, event) if self.is_capturing(stream) => {
                    self.central().epochs.record_failed(index, event);
                    return false;
                }
                Step::Record(stream, event) => {
                    let event = event.map_or_else(|| self.device.create_event(self.id), Ok);
                    let recorded = event.map_err(|_| None).and_then(|event| {
                        let done = self.device.record_event(self.id, stream, event);
                        done.map(|()| event).map_err(|_| Some(event))
                    });
                    match recorded {
                        Ok(event) => self.central().epochs.recorded(index, event),
                        Err(event) => {
                            self.central().epochs.record_failed(index, event);
                            return false;
                        }
                    }
                }
            }
        }
    }

    /// Returns true if a stream is known to be capturing.
    fn is_capturing(&self, stream: Stream) -> bool {
        self.device
            .cuda_stream_capture_info(self.id, stream)
            .is_ok_and(|info| info.capture_status != CaptureStatus::NONE)
    }

    /// Allocates a block from the device; if that fails, frees the cached memory and tries again.
    pub(super) fn obtain(&self, class: Class, size: usize) -> Result<Block, PoolError> {
        let (many, few) = if class < self.classes.cut() {
            let bytes = self.central().class_bytes(class);
            (self.classes.slab(class, bytes), self.classes.least_slab(class))
        } else {
            (1, 1)
        };
        self.cut(class, many, size).or_else(|error| {
            let (given, _) = self.give_back(0);
            if given == 0 && few >= many { Err(error) } else { self.cut(class, few, size) }
        })
    }

    /// Allocates a slab of up to `count` blocks from the device and takes one of them.
    fn cut(&self, class: Class, count: usize, size: usize) -> Result<Block, PoolError> {
        let stride = self.classes.size(class);
        let (page, count) = if class < self.classes.cut() { (self.page, count) } else { (1, 1) };
        let (at, bytes, base, count) = loop {
            let lead = if self.is_unaligned.load(Ordering::Relaxed) { page - 1 } else { 0 };
            let too_large = PoolError::TooLarge { size };
            let bytes =
                (count * stride).checked_next_multiple_of(page).and_then(|bytes| bytes.checked_add(lead));
            let bytes = bytes.ok_or(too_large)?;
            let at = self.device.device_memory_allocate(self.id, bytes)?;
            if at.is_null() {
                return Err(PoolError::OutOfMemory { size });
            }
            let end = at.addr().checked_add(bytes).and_then(|_| at.addr().checked_next_multiple_of(page));
            let Some(base) = end else {
                self.return_unused(at, bytes);
                let message =
                    format!("the device returned {bytes} bytes at {at:?}, which exceeds the address space");
                return Err(PoolError::Device(Error::new(Status::INTERNAL_ERROR, message)));
            };
            let whole = bytes.saturating_sub(base - at.addr()) / stride;
            if base != at.addr() {
                self.is_unaligned.store(true, Ordering::Relaxed);
            }
            if whole > 0 {
                break (at, bytes, base, count.min(whole));
            }
            self.return_unused(at, bytes);
        };
        let slab = Slab::new(class, at, bytes, base, stride, count);
        let pages = slab.pages();
        let slab = NonNull::from(Box::leak(Box::new(slab)));
        let mut central = self.central();
        if self.pages.insert(slab, pages).is_err() {
            drop(central);
            // SAFETY: it was leaked above, and nothing else points to it.
            drop(unsafe { Box::from_raw(slab.as_ptr()) });
            self.return_unused(at, bytes);
            return Err(PoolError::HostMemory);
        }
        central.add_slab(slab);
        central.misses += 1;
        central.splits += u64::from(count > 1);
        central.take_fresh(class).ok_or(PoolError::OutOfMemory { size })
    }

    /// Frees memory that cannot become a slab; returns the number of bytes that the device freed.
    fn return_unused(&self, at: DevicePtr, bytes: usize) -> usize {
        if self.device.device_memory_deallocate(self.id, at, bytes).is_ok() {
            return bytes;
        }
        self.central().add_unusable(at, bytes);
        0
    }

    /// Frees slabs; returns the number of bytes that the device freed, and its first error.
    pub(super) fn give_back(&self, keep: usize) -> (usize, Option<Error>) {
        let unusable = self.central().take_unusable();
        let mut given = unusable.into_iter().map(|(at, bytes)| self.return_unused(at, bytes)).sum();
        let mut failure = None;
        for detached in self.detach_slabs(keep) {
            let slab = Block { slab: detached.slab, index: 0 };
            let slab = slab.slab();
            match self.device.device_memory_deallocate(self.id, slab.allocation, slab.bytes) {
                Ok(()) => {
                    given += slab.bytes;
                    self.central().forget(&detached);
                    // SAFETY: it was a box, and no list, page map or thread cache points to it any more.
                    drop(unsafe { Box::from_raw(detached.slab.as_ptr()) });
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    let mut central = self.central();
                    // Cannot fail: the map already had these pages.
                    let _ = self.pages.insert(detached.slab, slab.pages());
                    central.reattach(detached);
                }
            }
        }
        (given, failure)
    }

    /// Takes idle slabs out of the central free list and the page map.
    fn detach_slabs(&self, keep: usize) -> Vec<DetachedSlab> {
        // While all caches are locked, no free can look up these slabs.
        let mut caches: Vec<CacheGuard<'_>> = self.caches.lock_each().collect();
        let mut central = self.central();
        for cache in &mut caches {
            self.flush(cache);
            cache.drain().for_each(|bins| central.add_bins(*bins));
        }
        let cached = central.from_device.saturating_sub(self.in_use());
        let slabs = central.detach_slabs(cached, keep);
        for detached in &slabs {
            self.pages.remove(Block { slab: detached.slab, index: 0 }.slab().pages());
        }
        slabs
    }
}
