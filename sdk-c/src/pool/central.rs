//! The central free list: the free blocks that are not in thread caches, and the slabs of all blocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use tenon::DevicePtr;

use super::size_class::Class;
use super::slab::{Block, Slab};
use super::stream_epochs::{StreamEpochs, StreamIndex};
use super::thread_cache::StreamBins;

/// The number of queues in a class above which empty ones are removed.
const MAX_EMPTY_QUEUES: usize = 16;

/// The part of a pool that all threads share.
#[derive(Default)]
pub(super) struct CentralFreeList {
    pub(super) epochs: StreamEpochs,
    classes: Vec<ClassList>,
    /// Every slab, by its address in host memory.
    slabs: BTreeMap<usize, NonNull<Slab>>,
    /// Unusable allocations that the device has not yet freed.
    unusable: Vec<(DevicePtr, usize)>,
    /// Bytes allocated from the device.
    pub(super) from_device: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) splits: u64,
}

// SAFETY: all threads may use the slabs, whose mutable fields are atomic.
unsafe impl Send for CentralFreeList {}

/// The free blocks of one class.
#[derive(Default)]
struct ClassList {
    /// Blocks that were never used: for each slab, the first of them.
    fresh: Vec<Block>,
    /// Freed blocks of each stream, oldest first, which is the order in which their epochs complete.
    freed: Vec<(StreamIndex, VecDeque<(u64, Block)>)>,
    /// Bytes of the slabs of the class.
    bytes: usize,
}

/// A slab that was removed from the list to be freed, with its free blocks.
pub(super) struct DetachedSlab {
    pub(super) slab: NonNull<Slab>,
    fresh: Option<Block>,
    freed: Vec<(StreamIndex, u64, Block)>,
}

impl ClassList {
    /// Takes up to `max` blocks that were never used.
    fn take_fresh(&mut self, max: usize, mut each: impl FnMut(Block)) {
        for _ in 0..max {
            let Some(next) = self.fresh.last_mut() else { return };
            let block = *next;
            next.index += 1;
            if next.index as usize == block.slab().count() {
                self.fresh.pop();
            }
            block.slab().central_blocks.fetch_sub(1, Ordering::Relaxed);
            each(block);
        }
    }
}

impl CentralFreeList {
    fn class(&mut self, class: Class) -> &mut ClassList {
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, ClassList::default);
        }
        &mut self.classes[class]
    }

    /// Returns the bytes of the slabs of a class.
    pub(super) fn class_bytes(&mut self, class: Class) -> usize {
        self.class(class).bytes
    }

    /// Adds a block that was freed on a stream.
    pub(super) fn add(&mut self, stream: StreamIndex, block: Block) {
        let epoch = self.epochs.add_block(stream);
        block.slab().central_blocks.fetch_add(1, Ordering::Relaxed);
        let freed = &mut self.class(block.slab().class).freed;
        if let Some((_, queue)) = freed.iter_mut().find(|(of, _)| *of == stream) {
            queue.push_back((epoch, block));
            return;
        }
        if freed.len() > MAX_EMPTY_QUEUES {
            freed.retain(|(_, queue)| !queue.is_empty());
        }
        freed.push((stream, VecDeque::from([(epoch, block)])));
    }

    /// Adds all blocks of a thread's bins.
    pub(super) fn add_bins(&mut self, bins: StreamBins) {
        for block in bins.bins.into_iter().flatten() {
            self.add(bins.index, block);
        }
    }

    /// Takes up to `max` blocks that a stream can use now.
    pub(super) fn take(
        &mut self,
        class: Class,
        stream: StreamIndex,
        max: usize,
        mut each: impl FnMut(Block),
    ) {
        let Some(list) = self.classes.get_mut(class) else { return };
        let mut left = max;
        // The stream's own blocks first: they were used most recently, and no other stream loses any.
        list.freed.sort_by_key(|(of, _)| *of != stream);
        for (of, queue) in &mut list.freed {
            while left > 0 {
                let next = if *of == stream {
                    queue.pop_back()
                } else {
                    let is_complete = |(epoch, _): &(u64, Block)| self.epochs.is_complete(*of, *epoch);
                    if queue.front().is_some_and(is_complete) { queue.pop_front() } else { None }
                };
                let Some((_, block)) = next else { break };
                self.epochs.remove_block(*of);
                block.slab().central_blocks.fetch_sub(1, Ordering::Relaxed);
                each(block);
                left -= 1;
            }
        }
        list.take_fresh(left, each);
    }

    /// Takes a block of the slab that was added last.
    pub(super) fn take_fresh(&mut self, class: Class) -> Option<Block> {
        let mut taken = None;
        self.classes.get_mut(class)?.take_fresh(1, |block| taken = Some(block));
        taken
    }

    /// Takes one block that a stream can use now.
    pub(super) fn take_one(&mut self, class: Class, stream: StreamIndex) -> Option<Block> {
        let mut taken = None;
        self.take(class, stream, 1, |block| taken = Some(block));
        self.hits += u64::from(taken.is_some());
        taken
    }

    /// Returns the other streams that have blocks of a class whose epochs are not complete.
    pub(super) fn pending_streams(&self, class: Class, stream: StreamIndex) -> Vec<StreamIndex> {
        let freed = self.classes.get(class).map_or(&[][..], |list| &list.freed);
        freed.iter().filter(|(of, queue)| *of != stream && !queue.is_empty()).map(|(of, _)| *of).collect()
    }

    /// Adds a new slab with all of its blocks.
    pub(super) fn add_slab(&mut self, slab: NonNull<Slab>) {
        let first = Block { slab, index: 0 };
        let (count, bytes) = (first.slab().count(), first.slab().bytes);
        first.slab().central_blocks.store(count, Ordering::Relaxed);
        let list = self.class(first.slab().class);
        list.fresh.push(first);
        list.bytes += bytes;
        self.slabs.insert(slab.as_ptr().addr(), slab);
        self.from_device += bytes;
    }

    /// Adds an allocation that will be freed as soon as the device is able to.
    pub(super) fn add_unusable(&mut self, at: DevicePtr, bytes: usize) {
        self.unusable.push((at, bytes));
        self.from_device += bytes;
    }

    /// Takes all unusable allocations.
    pub(super) fn take_unusable(&mut self) -> Vec<(DevicePtr, usize)> {
        let unusable = std::mem::take(&mut self.unusable);
        self.from_device -= unusable.iter().map(|(_, bytes)| bytes).sum::<usize>();
        unusable
    }

    /// Detaches slabs that have only free blocks, the largest first, until at most `keep` of `cached` bytes remain.
    pub(super) fn detach_slabs(&mut self, mut cached: usize, keep: usize) -> Vec<DetachedSlab> {
        let is_idle = |slab: &Slab| slab.central_blocks.load(Ordering::Relaxed) == slab.count();
        let firsts = self.slabs.values().map(|&slab| Block { slab, index: 0 });
        let mut idle: Vec<Block> = firsts.filter(|first| is_idle(first.slab())).collect();
        idle.sort_by_key(|first| Reverse(first.slab().bytes));
        let mut detached = BTreeMap::new();
        let mut classes = BTreeSet::new();
        for first in idle {
            if cached <= keep {
                break;
            }
            let (slab, address) = (first.slab(), first.slab.as_ptr().addr());
            cached = cached.saturating_sub(slab.bytes);
            self.from_device -= slab.bytes;
            self.classes[slab.class].bytes -= slab.bytes;
            self.slabs.remove(&address);
            classes.insert(slab.class);
            detached.insert(address, DetachedSlab { slab: first.slab, fresh: None, freed: Vec::new() });
        }
        for class in classes {
            let list = &mut self.classes[class];
            list.fresh.retain(|block| match detached.get_mut(&block.slab.as_ptr().addr()) {
                Some(slab) => slab.fresh.replace(*block).is_some(),
                None => true,
            });
            for (stream, queue) in &mut list.freed {
                queue.retain(|(epoch, block)| {
                    let slab = detached.get_mut(&block.slab.as_ptr().addr());
                    slab.map(|slab| slab.freed.push((*stream, *epoch, *block))).is_none()
                });
            }
        }
        detached.into_values().collect()
    }

    /// Removes the blocks of a slab that the device has freed.
    pub(super) fn forget(&mut self, detached: &DetachedSlab) {
        for (stream, ..) in &detached.freed {
            self.epochs.remove_block(*stream);
        }
    }

    /// Restores a slab that the device failed to free, with its blocks in their epochs.
    pub(super) fn reattach(&mut self, detached: DetachedSlab) {
        let DetachedSlab { slab, fresh, freed } = detached;
        let (class, bytes) = {
            let first = Block { slab, index: 0 };
            (first.slab().class, first.slab().bytes)
        };
        self.slabs.insert(slab.as_ptr().addr(), slab);
        self.from_device += bytes;
        let list = self.class(class);
        list.bytes += bytes;
        list.fresh.extend(fresh);
        for (stream, epoch, block) in freed {
            // Inserted before the blocks that were freed since; the epochs of those complete later or at the same
            // time.
            match list.freed.iter_mut().find(|(of, _)| *of == stream) {
                Some((_, queue)) => queue.push_front((epoch, block)),
                None => list.freed.push((stream, VecDeque::from([(epoch, block)]))),
            }
        }
    }

    /// Takes all slabs, when the pool is dropped.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = NonNull<Slab>> {
        self.classes.clear();
        std::mem::take(&mut self.slabs).into_values()
    }
}
