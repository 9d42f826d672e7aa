//! What threads keep for themselves: freed blocks at hand, without asking anybody.
//!
//! A row is one thread's, as long as there are no more threads than rows; its lock is then free whenever it is
//! wanted. Who finds it taken goes on to the next row rather than wait.

use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tenon::device::Stream;

use super::class::Class;
use super::marks::Slot;
use super::slab::Block;

/// How many streams a row keeps blocks of.
const SHELVES: usize = 4;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A number that is this thread's.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// The rows of a pool.
pub(super) struct Rows(Box<[Row]>);

#[repr(align(128))]
struct Row {
    taken: AtomicBool,
    keep: UnsafeCell<Keep>,
}

// SAFETY: what is in a row is reached through its lock alone.
unsafe impl Sync for Row {}

/// What a row holds.
#[derive(Default)]
pub(super) struct Keep {
    shelves: [Option<Box<Shelf>>; SHELVES],
    next: usize,
    /// Allocations that were served from here.
    pub(super) hits: u64,
    /// Bytes that came into use and out of use here since they were last told, and the most that this was.
    pub(super) change: isize,
    pub(super) top: isize,
}

/// Blocks that were freed on one stream.
pub(super) struct Shelf {
    pub(super) stream: Stream,
    pub(super) slot: Slot,
    pub(super) blocks: Vec<Vec<Block>>,
}

impl Rows {
    pub(super) fn new() -> Self {
        let threads = thread::available_parallelism().map_or(4, usize::from);
        let rows = (threads * 4).next_power_of_two().clamp(8, 128);
        Rows((0..rows).map(|_| Row { taken: AtomicBool::new(false), keep: UnsafeCell::default() }).collect())
    }

    /// This thread's row, or another that nobody uses right now.
    pub(super) fn mine(&self) -> Guard<'_> {
        let first = thread_number();
        loop {
            for step in 0..self.0.len() {
                // There are 2ⁿ rows.
                if let Some(guard) = self.0[first.wrapping_add(step) & (self.0.len() - 1)].try_lock() {
                    return guard;
                }
            }
            thread::yield_now();
        }
    }

    /// Each row in turn, once it is free. To be called by those who hold none.
    pub(super) fn each(&self) -> impl Iterator<Item = Guard<'_>> {
        self.0.iter().map(Row::lock)
    }
}

impl Row {
    fn try_lock(&self) -> Option<Guard<'_>> {
        (!self.taken.swap(true, Ordering::Acquire)).then(|| Guard(self))
    }

    fn lock(&self) -> Guard<'_> {
        loop {
            // Rows are held for nanoseconds, unless whoever holds one is not running.
            for _ in 0..64 {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
                spin_loop();
            }
            thread::yield_now();
        }
    }
}

/// A row, for as long as this lives. No device may be called meanwhile.
pub(super) struct Guard<'a>(&'a Row);

impl Deref for Guard<'_> {
    type Target = Keep;

    fn deref(&self) -> &Keep {
        // SAFETY: the lock is held.
        unsafe { &*self.0.keep.get() }
    }
}

impl DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Keep {
        // SAFETY: the lock is held, and the guard is borrowed for as long.
        unsafe { &mut *self.0.keep.get() }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}

impl Keep {
    /// The shelf of a stream.
    pub(super) fn shelf(&mut self, stream: Stream) -> Option<&mut Shelf> {
        self.shelves.iter_mut().flatten().map(Box::as_mut).find(|shelf| shelf.stream == stream)
    }

    /// Puts up an empty shelf for a stream; answers the one that had to go for it.
    pub(super) fn put_up(&mut self, stream: Stream, slot: Slot, classes: usize) -> Option<Box<Shelf>> {
        let place = self.shelves.iter().position(Option::is_none).unwrap_or(self.next % SHELVES);
        self.next = place + 1;
        let blocks = (0..classes).map(|_| Vec::new()).collect();
        self.shelves[place].replace(Box::new(Shelf { stream, slot, blocks }))
    }

    /// Takes the shelf of a stream down.
    pub(super) fn take_down(&mut self, stream: Stream) -> Option<Box<Shelf>> {
        self.shelves
            .iter_mut()
            .find(|shelf| shelf.as_ref().is_some_and(|shelf| shelf.stream == stream))?
            .take()
    }

    /// Takes every shelf down.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Box<Shelf>> {
        self.shelves.iter_mut().filter_map(Option::take)
    }

    /// Every block of a class, with the slot of its stream.
    pub(super) fn take_class(&mut self, class: Class, mut each: impl FnMut(Slot, Block)) {
        for shelf in self.shelves.iter_mut().flatten() {
            for block in shelf.blocks[class].drain(..) {
                each(shelf.slot, block);
            }
        }
    }

    /// Notes that bytes came into use, or went out of it.
    pub(super) fn account(&mut self, change: isize) {
        self.change += change;
        self.top = self.top.max(self.change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_held_by_one_at_a_time() {
        let rows = Rows::new();
        let mine = rows.mine();
        for _ in 0..2 {
            assert!(mine.0.try_lock().is_none());
        }
        let others: Vec<_> = (1..rows.0.len()).map(|_| rows.mine()).collect();
        assert!(others.iter().all(|other| !std::ptr::eq(other.0, mine.0)));
        drop(others);
        drop(mine);
        assert_eq!(rows.each().count(), rows.0.len());
    }

    #[test]
    fn a_row_keeps_the_shelves_of_few_streams() {
        let mut keep = Keep::default();
        for handle in 1..=SHELVES {
            assert!(keep.put_up(Stream::from_addr(handle), handle, 1).is_none());
        }
        for handle in SHELVES + 1..100 {
            let gone = keep.put_up(Stream::from_addr(handle), handle, 1).map(|shelf| shelf.slot);
            assert_eq!(gone, Some(handle - SHELVES), "the oldest one goes");
            assert!(keep.shelf(Stream::from_addr(handle)).is_some());
        }
        assert_eq!(keep.clear().count(), SHELVES);
    }
}
