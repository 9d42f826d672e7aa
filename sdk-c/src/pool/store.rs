//! What all threads share: the blocks that are on no thread's shelf, and the slabs that they are of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use tenon::DevicePtr;

use super::class::Class;
use super::marks::{Marks, Slot};
use super::row::Shelf;
use super::slab::{Block, Slab};

/// So many streams may leave an empty queue behind in a class before it is tidied up.
const EMPTY_QUEUES: usize = 16;

/// The shared part of a pool.
#[derive(Default)]
pub(super) struct Store {
    pub(super) marks: Marks,
    classes: Vec<Blocks>,
    /// Every slab, by its own address.
    slabs: BTreeMap<usize, NonNull<Slab>>,
    /// What the device has given, cannot be used, and was not taken back so far.
    unusable: Vec<(DevicePtr, usize)>,
    /// Bytes that the device has given.
    pub(super) from_device: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) splits: u64,
}

// SAFETY: slabs are shared by all threads, and what changes in them is atomic.
unsafe impl Send for Store {}

/// The blocks of one class.
#[derive(Default)]
struct Blocks {
    /// Blocks that nobody has used yet: a slab, and which of its blocks is the next.
    fresh: Vec<Block>,
    /// What was freed on each stream: the oldest first, which is also passed first.
    freed: Vec<(Slot, VecDeque<(u64, Block)>)>,
    /// Bytes of its slabs.
    bytes: usize,
}

/// A slab on its way back to the device, with its blocks as they were stored.
pub(super) struct Leaving {
    pub(super) slab: NonNull<Slab>,
    fresh: Option<Block>,
    freed: Vec<(Slot, u64, Block)>,
}

impl Blocks {
    /// Gives up to `most` blocks that nobody has used yet.
    fn give_fresh(&mut self, most: usize, mut each: impl FnMut(Block)) {
        for _ in 0..most {
            let Some(next) = self.fresh.last_mut() else { return };
            let block = *next;
            next.index += 1;
            if next.index as usize == block.slab().count() {
                self.fresh.pop();
            }
            block.slab().stored.fetch_sub(1, Ordering::Relaxed);
            each(block);
        }
    }
}

impl Store {
    fn class(&mut self, class: Class) -> &mut Blocks {
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Blocks::default);
        }
        &mut self.classes[class]
    }

    /// Bytes that a class has from the device.
    pub(super) fn bytes_of(&mut self, class: Class) -> usize {
        self.class(class).bytes
    }

    /// Takes a block that was freed on a stream.
    pub(super) fn put(&mut self, slot: Slot, block: Block) {
        let epoch = self.marks.enter(slot);
        block.slab().stored.fetch_add(1, Ordering::Relaxed);
        let freed = &mut self.class(block.slab().class).freed;
        if let Some((_, queue)) = freed.iter_mut().find(|(of, _)| *of == slot) {
            queue.push_back((epoch, block));
            return;
        }
        if freed.len() > EMPTY_QUEUES {
            freed.retain(|(_, queue)| !queue.is_empty());
        }
        freed.push((slot, VecDeque::from([(epoch, block)])));
    }

    /// Takes everything from a shelf.
    pub(super) fn put_all(&mut self, shelf: Shelf) {
        for block in shelf.blocks.into_iter().flatten() {
            self.put(shelf.slot, block);
        }
    }

    /// Gives up to `most` blocks that a stream may have now.
    pub(super) fn take(&mut self, class: Class, slot: Slot, most: usize, mut each: impl FnMut(Block)) {
        let Some(blocks) = self.classes.get_mut(class) else { return };
        let mut left = most;
        // Its own first: those were used last, and cost no other stream anything.
        blocks.freed.sort_by_key(|(of, _)| *of != slot);
        for (of, queue) in &mut blocks.freed {
            while left > 0 {
                let next = if *of == slot {
                    queue.pop_back()
                } else {
                    let is_passed = |(epoch, _): &(u64, Block)| self.marks.has_passed(*of, *epoch);
                    if queue.front().is_some_and(is_passed) { queue.pop_front() } else { None }
                };
                let Some((_, block)) = next else { break };
                self.marks.leave(*of);
                block.slab().stored.fetch_sub(1, Ordering::Relaxed);
                each(block);
                left -= 1;
            }
        }
        blocks.give_fresh(left, each);
    }

    /// Gives a block of the slab that was added last.
    pub(super) fn take_fresh(&mut self, class: Class) -> Option<Block> {
        let mut taken = None;
        self.classes.get_mut(class)?.give_fresh(1, |block| taken = Some(block));
        taken
    }

    /// Gives one block that a stream may have now.
    pub(super) fn take_one(&mut self, class: Class, slot: Slot) -> Option<Block> {
        let mut taken = None;
        self.take(class, slot, 1, |block| taken = Some(block));
        self.hits += u64::from(taken.is_some());
        taken
    }

    /// The other streams that blocks of a class wait for.
    pub(super) fn waits(&self, class: Class, slot: Slot) -> Vec<Slot> {
        let freed = self.classes.get(class).map_or(&[][..], |blocks| &blocks.freed);
        freed.iter().filter(|(of, queue)| *of != slot && !queue.is_empty()).map(|(of, _)| *of).collect()
    }

    /// Takes in a slab, with all of its blocks.
    pub(super) fn add(&mut self, slab: NonNull<Slab>) {
        let first = Block { slab, index: 0 };
        let (count, bytes) = (first.slab().count(), first.slab().bytes);
        first.slab().stored.store(count, Ordering::Relaxed);
        let blocks = self.class(first.slab().class);
        blocks.fresh.push(first);
        blocks.bytes += bytes;
        self.slabs.insert(slab.as_ptr().addr(), slab);
        self.from_device += bytes;
    }

    /// Takes in memory that is to go back to the device as soon as the device takes it.
    pub(super) fn add_unusable(&mut self, at: DevicePtr, bytes: usize) {
        self.unusable.push((at, bytes));
        self.from_device += bytes;
    }

    /// Takes out all such memory.
    pub(super) fn take_unusable(&mut self) -> Vec<(DevicePtr, usize)> {
        let unusable = std::mem::take(&mut self.unusable);
        self.from_device -= unusable.iter().map(|(_, bytes)| bytes).sum::<usize>();
        unusable
    }

    /// Takes out whole slabs that nobody uses, the largest first, until no more than `keep` of `cached` bytes remain.
    pub(super) fn take_out(&mut self, mut cached: usize, keep: usize) -> Vec<Leaving> {
        let is_idle = |slab: &Slab| slab.stored.load(Ordering::Relaxed) == slab.count();
        let firsts = self.slabs.values().map(|&slab| Block { slab, index: 0 });
        let mut idle: Vec<Block> = firsts.filter(|first| is_idle(first.slab())).collect();
        idle.sort_by_key(|first| Reverse(first.slab().bytes));
        let mut leaving = BTreeMap::new();
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
            leaving.insert(address, Leaving { slab: first.slab, fresh: None, freed: Vec::new() });
        }
        for class in classes {
            let blocks = &mut self.classes[class];
            blocks.fresh.retain(|block| match leaving.get_mut(&block.slab.as_ptr().addr()) {
                Some(slab) => slab.fresh.replace(*block).is_some(),
                None => true,
            });
            for (slot, queue) in &mut blocks.freed {
                queue.retain(|(epoch, block)| {
                    let slab = leaving.get_mut(&block.slab.as_ptr().addr());
                    slab.map(|slab| slab.freed.push((*slot, *epoch, *block))).is_none()
                });
            }
        }
        leaving.into_values().collect()
    }

    /// Forgets a slab that the device has taken back.
    pub(super) fn forget(&mut self, gone: &Leaving) {
        for (slot, ..) in &gone.freed {
            self.marks.leave(*slot);
        }
    }

    /// Takes a slab in again that the device did not take back: what streams still use of it, they use.
    pub(super) fn take_back(&mut self, stays: Leaving) {
        let Leaving { slab, fresh, freed } = stays;
        let (class, bytes) = {
            let first = Block { slab, index: 0 };
            (first.slab().class, first.slab().bytes)
        };
        self.slabs.insert(slab.as_ptr().addr(), slab);
        self.from_device += bytes;
        let blocks = self.class(class);
        blocks.bytes += bytes;
        blocks.fresh.extend(fresh);
        for (slot, epoch, block) in freed {
            // Before what came since: that is not passed earlier.
            match blocks.freed.iter_mut().find(|(of, _)| *of == slot) {
                Some((_, queue)) => queue.push_front((epoch, block)),
                None => blocks.freed.push((slot, VecDeque::from([(epoch, block)]))),
            }
        }
    }

    /// Every slab, for the end.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = NonNull<Slab>> {
        self.classes.clear();
        std::mem::take(&mut self.slabs).into_values()
    }
}
