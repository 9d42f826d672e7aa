//! Memory of a device, which is kept for reuse.
//!
//! The host frees memory while work on streams may still use it. A free block therefore waits for the streams whose work may
//! use it: later work on the only one may use it at once, other work when each of them was idle once.

use std::collections::HashMap;
use std::sync::MutexGuard;

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Error, Result, Status, Stream};
use tenon::support::Mutex;

/// The work that may use a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// None that goes on after the block is freed.
    Nobody,
    /// That of a stream.
    Stream(Stream),
    /// That of any stream.
    Anyone,
}

/// The memory of a device.
pub(crate) struct Pool {
    device: &'static dyn Device,
    id: DeviceId,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    /// The free blocks of each size.
    free: HashMap<usize, Vec<Free>>,
    /// The blocks in use, by their address.
    used: HashMap<usize, (usize, Owner)>,
    streams: Vec<Stream>,
    figures: Figures,
}

/// A free block.
struct Free {
    block: DevicePtr,
    /// The streams that had work when it was freed, and that were not idle since.
    waits_for: Vec<Stream>,
}

/// Figures of a pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// The number of allocations.
    pub(crate) allocations: usize,
    /// The number of allocations of the device.
    pub(crate) device_allocations: usize,
    /// The bytes in use.
    pub(crate) used: usize,
    /// The most bytes that were in use.
    pub(crate) most_used: usize,
    /// The bytes that the device has given.
    pub(crate) total: usize,
    /// The bytes of the largest block.
    pub(crate) largest: usize,
}

impl Pool {
    pub(crate) fn new(device: &'static dyn Device, id: DeviceId) -> Self {
        Self { device, id, blocks: Mutex::default() }
    }

    /// Allocates memory for the work of an owner.
    ///
    /// # Errors
    /// The device has no memory left, also after free blocks were returned to it.
    pub(crate) fn allocate(&self, size: usize, owner: Owner) -> Result<DevicePtr> {
        let size = size_class(size);
        let mut blocks = self.lock();
        let found = match blocks.take(size, owner) {
            None if blocks.free.get(&size).is_some_and(|free| !free.is_empty()) => {
                self.settle(&mut blocks);
                blocks.take(size, owner)
            }
            found => found,
        };
        let block = match found {
            Some(block) => block,
            None => self.request(&mut blocks, size)?,
        };
        blocks.used.insert(block.addr(), (size, owner));
        let figures = &mut blocks.figures;
        figures.allocations += 1;
        figures.used += size;
        figures.most_used = figures.most_used.max(figures.used);
        figures.largest = figures.largest.max(size);
        Ok(block)
    }

    /// Frees memory, which the work of its owner may still use. Ignores addresses that are not of the pool.
    pub(crate) fn free(&self, block: DevicePtr) {
        let mut blocks = self.lock();
        let Some((size, owner)) = blocks.used.remove(&block.addr()) else { return };
        blocks.figures.used -= size;
        let waits_for = match owner {
            Owner::Nobody => Vec::new(),
            Owner::Stream(stream) => vec![stream],
            // Streams that come later have no work that was begun before.
            Owner::Anyone => blocks.streams.clone(),
        };
        blocks.free.entry(size).or_default().push(Free { block, waits_for });
    }

    /// Adds a stream whose work may use memory.
    pub(crate) fn add_stream(&self, stream: Stream) {
        self.lock().streams.push(stream);
    }

    /// Removes a stream whose work is complete.
    pub(crate) fn remove_stream(&self, stream: Stream) {
        let mut blocks = self.lock();
        blocks.streams.retain(|other| *other != stream);
        blocks.release(|other| other == stream);
        for (_, owner) in blocks.used.values_mut().filter(|(_, owner)| *owner == Owner::Stream(stream)) {
            *owner = Owner::Anyone;
        }
    }

    /// Returns free blocks to the device.
    pub(crate) fn shrink(&self) {
        let mut blocks = self.lock();
        self.settle(&mut blocks);
        self.trim(&mut blocks);
    }

    pub(crate) fn figures(&self) -> Figures {
        self.lock().figures
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock()
    }

    /// Notes which free blocks no work uses any more.
    fn settle(&self, blocks: &mut Blocks) {
        let is_idle = |stream: &Stream| self.device.query_stream(self.id, *stream).unwrap_or(false);
        let idle: Vec<Stream> = blocks.streams.iter().copied().filter(is_idle).collect();
        blocks.release(|stream| idle.contains(&stream));
    }

    /// Allocates memory of the device.
    fn request(&self, blocks: &mut Blocks, size: usize) -> Result<DevicePtr> {
        let mut block = self.device.device_memory_allocate(self.id, size);
        if !matches!(block, Ok(block) if !block.is_null()) {
            // The work of streams may be all that keeps free blocks from being used.
            self.device.synchronize_device(self.id)?;
            blocks.release(|_| true);
            if self.trim(blocks) {
                block = self.device.device_memory_allocate(self.id, size);
            }
        }
        let block = block?;
        // A device that has no memory left succeeds with null.
        if block.is_null() {
            return Err(Error::new(
                Status::INTERNAL_ERROR,
                format!("the device has no {size} bytes of memory left"),
            ));
        }
        blocks.figures.device_allocations += 1;
        blocks.figures.total += size;
        Ok(block)
    }

    /// Returns the free blocks that wait for no stream to the device. Returns true if there were any.
    fn trim(&self, blocks: &mut Blocks) -> bool {
        let mut freed = 0;
        for (size, free) in &mut blocks.free {
            free.retain(|Free { block, waits_for }| {
                let is_freed = waits_for.is_empty()
                    && self.device.device_memory_deallocate(self.id, *block, *size).is_ok();
                freed += if is_freed { *size } else { 0 };
                !is_freed
            });
        }
        blocks.figures.total -= freed;
        freed > 0
    }
}

impl Blocks {
    /// Takes a free block that an owner may use at once.
    fn take(&mut self, size: usize, owner: Owner) -> Option<DevicePtr> {
        let free = self.free.get_mut(&size)?;
        let is_usable = |free: &Free| match (&free.waits_for[..], owner) {
            ([], _) => true,
            ([only], Owner::Stream(stream)) => *only == stream,
            _ => false,
        };
        let index = free.iter().rposition(is_usable)?;
        Some(free.swap_remove(index).block)
    }

    /// Notes that the work of some streams no longer uses free blocks.
    fn release(&mut self, is_done: impl Fn(Stream) -> bool) {
        for free in self.free.values_mut().flatten() {
            free.waits_for.retain(|stream| !is_done(*stream));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut blocks = self.lock();
        // All streams of the device were destroyed, which waits for their work.
        blocks.release(|_| true);
        self.trim(&mut blocks);
    }
}

/// Rounds a size up to one of four for each power of two, so that blocks fit more often.
fn size_class(size: usize) -> usize {
    const LEAST: usize = 256;
    if size <= LEAST {
        return LEAST;
    }
    let step = (size.next_power_of_two() / 8).max(LEAST);
    size.checked_next_multiple_of(step).unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use tenon_cpu::{Config, Cpu};

    use super::*;

    const MEMORY: usize = 1 << 26;

    fn cpu() -> &'static Cpu {
        Box::leak(Box::new(Cpu::with_config(Config { devices: 1, memory: MEMORY, threads: 2 })))
    }

    #[test]
    fn sizes_are_rounded_up_by_a_fourth_at_most() {
        for (size, class) in
            [(0, 256), (256, 256), (257, 512), (1025, 1280), (4097, 5120), (1 << 20, 1 << 20)]
        {
            assert_eq!(size_class(size), class, "{size}");
        }
    }

    #[test]
    fn block_is_used_by_others_only_when_its_stream_is_idle() {
        let cpu = cpu();
        let id = DeviceId(0);
        let pool = Pool::new(cpu, id);
        let [one, other] = [(); 2].map(|()| cpu.create_stream(id).unwrap());
        for stream in [one, other] {
            pool.add_stream(stream);
        }
        let (begin, wait) = std::sync::mpsc::channel::<()>();
        let block = pool.allocate(1000, Owner::Stream(one)).unwrap();
        cpu.launch_kernel(id, one, "wait", move || wait.recv().map_err(|error| error.to_string())).unwrap();
        pool.free(block);
        let same = pool.allocate(1000, Owner::Stream(one)).unwrap();
        assert_eq!(same, block, "work of the same stream runs later");
        pool.free(same);
        let foreign = pool.allocate(1000, Owner::Stream(other)).unwrap();
        let anyone = pool.allocate(1000, Owner::Anyone).unwrap();
        assert!(
            foreign != block && anyone != block && foreign != anyone,
            "its work runs beside the other one"
        );
        begin.send(()).unwrap();
        cpu.synchronize_stream(id, one).unwrap();
        assert_eq!(pool.allocate(1000, Owner::Stream(other)).unwrap(), block);
        assert_eq!(pool.figures().device_allocations, 3);
    }

    #[test]
    fn block_of_anyone_waits_for_the_streams_of_its_time_only() {
        let cpu = cpu();
        let id = DeviceId(0);
        let pool = Pool::new(cpu, id);
        let [before, after] = [(); 2].map(|()| cpu.create_stream(id).unwrap());
        let (begin, wait) = std::sync::mpsc::channel::<()>();
        let block = pool.allocate(1000, Owner::Anyone).unwrap();
        pool.add_stream(before);
        pool.free(block);
        pool.add_stream(after);
        // As a stream that never rests.
        cpu.launch_kernel(id, after, "wait", move || wait.recv().map_err(|error| error.to_string())).unwrap();
        assert_eq!(pool.allocate(1000, Owner::Stream(after)).unwrap(), block, "the older stream is idle");
        pool.free(block);
        pool.remove_stream(before);
        assert_ne!(pool.allocate(1000, Owner::Anyone).unwrap(), block, "the younger one is not");
        begin.send(()).unwrap();
        cpu.synchronize_stream(id, after).unwrap();
        assert_eq!(pool.allocate(1000, Owner::Anyone).unwrap(), block);
    }

    #[test]
    fn free_blocks_are_returned_when_memory_runs_out() {
        let cpu = cpu();
        let total = cpu.device_memory_stats(DeviceId(0)).unwrap().total;
        let pool = Pool::new(cpu, DeviceId(0));
        let half = pool.allocate(total / 2, Owner::Anyone).unwrap();
        pool.free(half);
        let most = pool.allocate(total / 4 * 3, Owner::Anyone).unwrap();
        assert_eq!(pool.figures().total, total / 4 * 3, "the free block was returned");
        assert!(pool.allocate(total / 2, Owner::Anyone).is_err());
        pool.free(most);
        let figures = pool.figures();
        assert_eq!((figures.used, figures.most_used), (0, total / 4 * 3));
        pool.shrink();
        assert_eq!(pool.figures().total, 0);
    }
}
