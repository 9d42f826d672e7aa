//! Where blocks come from when a thread has none at hand: other threads, other streams, the device; and how memory goes
//! back to it.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use tenon::DevicePtr;
use tenon::device::{CaptureStatus, Error, Status, Stream};

use super::class::Class;
use super::marks::{Slot, Step};
use super::row::Guard;
use super::slab::{Block, Slab};
use super::store::Leaving;
use super::{Pool, PoolError};

/// Nothing in the pool will do.
pub(super) struct NotFound;

impl Pool {
    /// A block that is anywhere in the pool and that the stream may have.
    #[cold]
    pub(super) fn find(&self, class: Class, stream: Stream) -> Result<Block, NotFound> {
        if class < self.classes.cut() {
            for mut keep in self.rows.each() {
                let mut store = self.store();
                keep.take_class(class, |slot, block| store.put(slot, block));
            }
        }
        let (slot, others) = {
            let mut store = self.store();
            let slot = store.marks.slot(stream);
            if let Some(block) = store.take_one(class, slot) {
                return Ok(block);
            }
            (slot, store.waits(class, slot))
        };
        for other in others {
            if !self.store().marks.begin(other) {
                continue;
            }
            let first = self.store().marks.first(other);
            self.follow(other, first);
            let mut store = self.store();
            store.marks.end(other);
            if let Some(block) = store.take_one(class, slot) {
                return Ok(block);
            }
        }
        Err(NotFound)
    }

    /// Does what has to be done about a stream, step by step; answers whether the device did its part.
    pub(super) fn follow(&self, slot: Slot, first: Step) -> bool {
        let mut step = first;
        loop {
            step = match step {
                Step::Rest => return true,
                Step::Query(event) => match self.device.query_event(self.id, event) {
                    Ok(done) => self.store().marks.answered(slot, done),
                    // What cannot be asked is not done. An event that was captured never can: the next time it is
                    // another one that is asked.
                    Err(_) => {
                        let event = self.store().marks.unanswered(slot);
                        if let Some(event) = event
                            && self.device.destroy_event(self.id, event).is_err()
                        {
                            self.store().marks.keep_event(event);
                        }
                        return false;
                    }
                },
                // The event would become part of what the user captures.
                Step::Record(stream, event) if self.is_capturing(stream) => {
                    self.store().marks.not_recorded(slot, event);
                    return false;
                }
                Step::Record(stream, event) => {
                    let event = event.map_or_else(|| self.device.create_event(self.id), Ok);
                    let recorded = event.map_err(|_| None).and_then(|event| {
                        let done = self.device.record_event(self.id, stream, event);
                        done.map(|()| event).map_err(|_| Some(event))
                    });
                    match recorded {
                        Ok(event) => self.store().marks.recorded(slot, event),
                        Err(event) => {
                            self.store().marks.not_recorded(slot, event);
                            return false;
                        }
                    }
                }
            }
        }
    }

    /// Whether a stream is known to take down its work instead of doing it.
    fn is_capturing(&self, stream: Stream) -> bool {
        self.device
            .cuda_stream_capture_info(self.id, stream)
            .is_ok_and(|info| info.capture_status != CaptureStatus::NONE)
    }

    /// A block of memory that the device gives, if need be once the pool has given back what it keeps.
    pub(super) fn obtain(&self, class: Class, size: usize) -> Result<Block, PoolError> {
        let (many, few) = if class < self.classes.cut() {
            let bytes = self.store().bytes_of(class);
            (self.classes.slab(class, bytes), self.classes.least_slab(class))
        } else {
            (1, 1)
        };
        self.cut(class, many, size).or_else(|error| {
            let (given, _) = self.give_back(0);
            if given == 0 && few >= many { Err(error) } else { self.cut(class, few, size) }
        })
    }

    /// Cuts an allocation of the device into up to `count` blocks and takes one of them.
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
                    format!("the device has given {bytes} bytes at {at:?}, which no address space holds");
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
        let mut store = self.store();
        if self.pages.insert(slab, pages).is_err() {
            drop(store);
            // SAFETY: it was leaked above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(slab.as_ptr()) });
            self.return_unused(at, bytes);
            return Err(PoolError::HostMemory);
        }
        store.add(slab);
        store.misses += 1;
        store.splits += u64::from(count > 1);
        store.take_fresh(class).ok_or(PoolError::OutOfMemory { size })
    }

    /// Gives memory back that no slab can be made of; answers how many bytes the device took.
    fn return_unused(&self, at: DevicePtr, bytes: usize) -> usize {
        if self.device.device_memory_deallocate(self.id, at, bytes).is_ok() {
            return bytes;
        }
        self.store().add_unusable(at, bytes);
        0
    }

    /// Gives slabs back to the device; answers how many bytes it took, and the first thing that it said against it.
    pub(super) fn give_back(&self, keep: usize) -> (usize, Option<Error>) {
        let unusable = self.store().take_unusable();
        let mut given = unusable.into_iter().map(|(at, bytes)| self.return_unused(at, bytes)).sum();
        let mut failure = None;
        for leaving in self.take_out(keep) {
            let slab = Block { slab: leaving.slab, index: 0 };
            let slab = slab.slab();
            match self.device.device_memory_deallocate(self.id, slab.allocation, slab.bytes) {
                Ok(()) => {
                    given += slab.bytes;
                    self.store().forget(&leaving);
                    // SAFETY: it came from a box, and neither a list nor the map nor a row leads to it any more.
                    drop(unsafe { Box::from_raw(leaving.slab.as_ptr()) });
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    let mut store = self.store();
                    // The map had these pages before, so there is room for them.
                    let _ = self.pages.insert(leaving.slab, slab.pages());
                    store.take_back(leaving);
                }
            }
        }
        (given, failure)
    }

    /// Takes slabs out that nobody uses, so that nothing leads to them.
    fn take_out(&self, keep: usize) -> Vec<Leaving> {
        // With every row held, nobody is looking at a slab that is about to go.
        let mut rows: Vec<Guard<'_>> = self.rows.each().collect();
        let mut store = self.store();
        for row in &mut rows {
            self.tell(row);
            row.clear().for_each(|shelf| store.put_all(*shelf));
        }
        let cached = store.from_device.saturating_sub(self.in_use());
        let slabs = store.take_out(cached, keep);
        for leaving in &slabs {
            self.pages.remove(Block { slab: leaving.slab, index: 0 }.slab().pages());
        }
        slabs
    }
}
