//! The page map: finds the slab of an address without a lock.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use tenon::support::RwLock;

use super::size_class::PAGE;
use super::slab::Slab;

/// Both levels have 2¹⁸ entries; with pages of 2¹² bytes they span 2⁴⁸ bytes, which is what processors address.
const BITS: u32 = 18;
const ENTRIES: usize = 1 << BITS;

/// The host has no memory for the map.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoHostMemory;

/// A radix tree of two levels. Its memory is zeroed on demand by the system.
pub(super) struct PageMap {
    root: Table<Leaf>,
    /// Pages beyond the span of the tree: the addresses of a device can be any numbers.
    beyond: RwLock<HashMap<usize, NonNull<Slab>>>,
}

// SAFETY: all threads may use the slabs; the entries are atomic or behind the lock.
unsafe impl Send for PageMap {}
// SAFETY: as above.
unsafe impl Sync for PageMap {}

type Leaf = [AtomicPtr<Slab>; ENTRIES];

/// A table of pointers, all null at first.
#[repr(transparent)]
struct Table<T>(NonNull<[AtomicPtr<T>; ENTRIES]>);

impl<T> Table<T> {
    const LAYOUT: Layout = Layout::new::<[AtomicPtr<T>; ENTRIES]>();

    fn new() -> Result<Self, NoHostMemory> {
        // SAFETY: the layout has a size; all bits zero is a null pointer.
        NonNull::new(unsafe { alloc_zeroed(Self::LAYOUT) }.cast()).map(Table).ok_or(NoHostMemory)
    }

    fn entries(&self) -> &[AtomicPtr<T>; ENTRIES] {
        // SAFETY: the table is freed by `drop` only.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is not used after `drop`.
        unsafe { dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

impl PageMap {
    pub(super) fn new() -> Result<Self, NoHostMemory> {
        Ok(PageMap { root: Table::new()?, beyond: RwLock::default() })
    }

    /// Returns the slab of the page of an address.
    pub(super) fn find(&self, address: usize) -> Option<NonNull<Slab>> {
        let page = address / PAGE;
        if page >> (2 * BITS) != 0 {
            return self.beyond.read().get(&page).copied();
        }
        NonNull::new(self.leaf(page)?[page % ENTRIES].load(Ordering::Acquire))
    }

    fn leaf(&self, page: usize) -> Option<&Leaf> {
        let leaf = self.root.entries()[page >> BITS].load(Ordering::Acquire);
        // SAFETY: a leaf is not moved or freed before the map is dropped.
        Some(unsafe { NonNull::new(leaf)?.as_ref() })
    }

    /// Maps pages to a slab. Only one thread at a time may call it.
    pub(super) fn insert(&self, slab: NonNull<Slab>, pages: (usize, usize)) -> Result<(), NoHostMemory> {
        let (first, count) = pages;
        // Makes the leaves first, so that a failure changes no entry.
        for top in (first >> BITS)..=((first + count - 1) >> BITS) {
            if top < ENTRIES && self.root.entries()[top].load(Ordering::Acquire).is_null() {
                let leaf = std::mem::ManuallyDrop::new(Table::<Slab>::new()?);
                self.root.entries()[top].store(leaf.0.as_ptr(), Ordering::Release);
            }
        }
        self.set(pages, Some(slab));
        Ok(())
    }

    /// Unmaps pages. Only one thread at a time may call it.
    pub(super) fn remove(&self, pages: (usize, usize)) {
        self.set(pages, None);
    }

    fn set(&self, (first, count): (usize, usize), slab: Option<NonNull<Slab>>) {
        for page in first..first + count {
            if page >> (2 * BITS) != 0 {
                let mut beyond = self.beyond.write();
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

impl Drop for PageMap {
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
    fn find_mapped_pages_only() {
        let pages = PageMap::new().unwrap();
        let slabs: [NonNull<Slab>; 3] = [64, 128, 192].map(|at| NonNull::new(at as *mut Slab).unwrap());
        // At the border of two leaves, at the end of the tree, and beyond it.
        let places = [((1 << BITS) - 2, 4), ((1 << (2 * BITS)) - 1, 2), (usize::MAX / PAGE, 1)];
        for (slab, place) in slabs.into_iter().zip(places) {
            pages.insert(slab, place).unwrap();
        }
        for (slab, (first, count)) in slabs.into_iter().zip(places) {
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
