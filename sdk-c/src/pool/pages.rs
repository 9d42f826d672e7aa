//! From an address to the slab that it lies in, without a lock.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{PoisonError, RwLock};

use super::class::PAGE;
use super::slab::Slab;

/// Both levels have 2¹⁸ entries; with pages of 2¹² bytes they span 2⁴⁸ bytes, which is what processors address.
const BITS: u32 = 18;
const ENTRIES: usize = 1 << BITS;

/// The host has no memory for the map.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

/// A tree of two levels; the memory for it is mapped as it is first used.
pub(super) struct Pages {
    root: Table<Leaf>,
    /// What lies beyond the tree: devices may number their memory as they like.
    beyond: RwLock<HashMap<usize, NonNull<Slab>>>,
}

// SAFETY: what it points to is shared by all threads; the entries are atomic or behind the lock.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

type Leaf = [AtomicPtr<Slab>; ENTRIES];

/// A table of pointers, all null at first.
#[repr(transparent)]
struct Table<T>(NonNull<[AtomicPtr<T>; ENTRIES]>);

impl<T> Table<T> {
    const LAYOUT: Layout = Layout::new::<[AtomicPtr<T>; ENTRIES]>();

    fn new() -> Result<Self, NoRoom> {
        // SAFETY: the layout has a size; all bits zero is a null pointer.
        NonNull::new(unsafe { alloc_zeroed(Self::LAYOUT) }.cast()).map(Table).ok_or(NoRoom)
    }

    fn entries(&self) -> &[AtomicPtr<T>; ENTRIES] {
        // SAFETY: the table is there as long as this is.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        unsafe { dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

impl Pages {
    pub(super) fn new() -> Result<Self, NoRoom> {
        Ok(Pages { root: Table::new()?, beyond: RwLock::default() })
    }

    /// The slab that the page of an address leads to.
    pub(super) fn find(&self, address: usize) -> Option<NonNull<Slab>> {
        let page = address / PAGE;
        if page >> (2 * BITS) != 0 {
            return self.beyond.read().unwrap_or_else(PoisonError::into_inner).get(&page).copied();
        }
        NonNull::new(self.leaf(page)?[page % ENTRIES].load(Ordering::Acquire))
    }

    fn leaf(&self, page: usize) -> Option<&Leaf> {
        let leaf = self.root.entries()[page >> BITS].load(Ordering::Acquire);
        // SAFETY: a leaf stays where it is until the map is dropped.
        Some(unsafe { NonNull::new(leaf)?.as_ref() })
    }

    /// Lets the pages of a slab lead to it. To be called by one thread at a time.
    pub(super) fn insert(&self, slab: NonNull<Slab>, pages: (usize, usize)) -> Result<(), NoRoom> {
        let (first, count) = pages;
        // The leaves first, so that a failure leaves nothing behind.
        for top in (first >> BITS)..=((first + count - 1) >> BITS) {
            if top < ENTRIES && self.root.entries()[top].load(Ordering::Acquire).is_null() {
                let leaf = std::mem::ManuallyDrop::new(Table::<Slab>::new()?);
                self.root.entries()[top].store(leaf.0.as_ptr(), Ordering::Release);
            }
        }
        self.set(pages, Some(slab));
        Ok(())
    }

    /// Lets the pages of a slab lead nowhere. To be called by one thread at a time.
    pub(super) fn remove(&self, pages: (usize, usize)) {
        self.set(pages, None);
    }

    fn set(&self, (first, count): (usize, usize), slab: Option<NonNull<Slab>>) {
        for page in first..first + count {
            if page >> (2 * BITS) != 0 {
                let mut beyond = self.beyond.write().unwrap_or_else(PoisonError::into_inner);
                match slab {
                    Some(slab) => beyond.insert(page, slab),
                    None => beyond.remove(&page),
                };
            } else if let Some(leaf) = self.leaf(page) {
                leaf[page % ENTRIES]
                    .store(slab.map_or(std::ptr::null_mut(), NonNull::as_ptr), Ordering::Release);
            }
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        for entry in self.root.entries() {
            let leaf = entry.load(Ordering::Acquire);
            drop(NonNull::new(leaf).map(Table));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lead_to_their_slab_and_to_nothing_else() {
        let pages = Pages::new().unwrap();
        let marks: [NonNull<Slab>; 3] = [64, 128, 192].map(|at| NonNull::new(at as *mut Slab).unwrap());
        // At the border of two leaves, at the end of the tree, and beyond it.
        let places = [((1 << BITS) - 2, 4), ((1 << (2 * BITS)) - 1, 2), (usize::MAX / PAGE, 1)];
        for (slab, place) in marks.into_iter().zip(places) {
            pages.insert(slab, place).unwrap();
        }
        for (slab, (first, count)) in marks.into_iter().zip(places) {
            assert_eq!(pages.find((first - 1) * PAGE), None);
            for page in first..first + count {
                assert_eq!(pages.find(page * PAGE), Some(slab));
                assert_eq!(pages.find(page * PAGE + (PAGE - 1)), Some(slab));
            }
        }
        assert_eq!(pages.find(((1 << BITS) + 2) * PAGE), None);
        for place in places {
            pages.remove(place);
            assert_eq!(pages.find(place.0 * PAGE), None);
        }
        assert_eq!(pages.find(0), None);
    }
}
