//! The live allocations of a plugin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tenon::reflect::Space;

use super::accesses::Accesses;
use super::hash::Map;
use super::stream_progress::WorkId;
use crate::validate::call_site::CallSite;

/// Memory that a plugin has allocated and not yet freed.
pub struct Allocation {
    pub start: u64,
    pub size: u64,
    pub device: i32,
    pub space: Space,
    pub created_by: CallSite,
    /// True once it was reported as a leak.
    pub reported: AtomicBool,
    /// The last work that used it, by stream. Two streams may share an entry, which then keeps only the later one. So a
    /// free during queued work may go unnoticed, but there are no false reports.
    uses: [AtomicU64; 4],
    pub accesses: Accesses,
}

impl Allocation {
    pub fn new(start: u64, size: u64, device: i32, space: Space, created_by: CallSite) -> Self {
        Self {
            start,
            size,
            device,
            space,
            created_by,
            reported: AtomicBool::new(false),
            uses: Default::default(),
            accesses: Accesses::default(),
        }
    }

    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }

    #[inline]
    pub fn note_use(&self, work: WorkId) {
        self.uses[work.stream() as usize % self.uses.len()].store(work.pack(), Ordering::Relaxed);
    }

    pub fn uses(&self) -> impl Iterator<Item = WorkId> {
        self.uses.iter().filter_map(|use_| WorkId::unpack(use_.load(Ordering::Relaxed)))
    }
}

/// The memory of one plugin. Devices have separate address spaces, which may coincide; the host has one.
#[derive(Default)]
pub struct Memory {
    devices: Vec<Arena>,
    host: Arena,
}

#[derive(Default)]
struct Arena {
    /// The allocations by their first address. No two overlap.
    ranges: BTreeMap<u64, Arc<Allocation>>,
    /// Allocations of 0 bytes, which may share an address with others.
    empty: Map<u64, Vec<Arc<Allocation>>>,
    /// The bounds of all `ranges`.
    low: u64,
    high: u64,
}

impl Arena {
    #[inline]
    fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        if address < self.low || address >= self.high {
            return None;
        }
        let (_, allocation) = self.ranges.range(..=address).next_back()?;
        (address < allocation.end()).then_some(allocation)
    }

    fn at(&self, address: u64) -> Option<&Arc<Allocation>> {
        self.ranges.get(&address).or_else(|| self.empty.get(&address)?.last())
    }

    fn insert(&mut self, allocation: Arc<Allocation>) -> Option<Arc<Allocation>> {
        if allocation.size == 0 {
            self.empty.entry(allocation.start).or_default().push(allocation);
            return None;
        }
        if self.ranges.is_empty() {
            (self.low, self.high) = (allocation.start, allocation.end());
        }
        (self.low, self.high) = (self.low.min(allocation.start), self.high.max(allocation.end()));
        let mut removed = None;
        while let Some((start, other)) = self.ranges.range(..allocation.end()).next_back()
            && other.end() > allocation.start
        {
            let start = *start;
            removed = self.ranges.remove(&start);
        }
        self.ranges.insert(allocation.start, allocation);
        removed
    }

    fn remove(&mut self, address: u64, size: u64) -> Option<Arc<Allocation>> {
        if self.ranges.get(&address).is_some_and(|known| known.size == size) {
            return self.ranges.remove(&address);
        }
        let same = self.empty.get_mut(&address).filter(|_| size == 0)?;
        let allocation = same.pop();
        if same.is_empty() {
            self.empty.remove(&address);
        }
        allocation
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.ranges.values().chain(self.empty.values().flatten())
    }
}

impl Memory {
    /// Adds an allocation. Removes and returns the allocations that it overlaps.
    pub fn insert(&mut self, allocation: Arc<Allocation>) -> Option<Arc<Allocation>> {
        self.arena_mut(allocation.device, allocation.space)?.insert(allocation)
    }

    /// Removes the allocation that begins at an address and has a size.
    pub fn remove(&mut self, device: i32, space: Space, address: u64, size: u64) -> Option<Arc<Allocation>> {
        let arena = self.arena_mut(device, space)?;
        let space_of = |found: &Arc<Allocation>| found.space == space && found.device == device;
        if !arena.at(address).is_some_and(space_of) {
            return None;
        }
        arena.remove(address, size)
    }

    /// Returns the device or unified memory of a device that an address lies in.
    #[inline]
    pub fn on_device(&self, device: i32, address: u64) -> Option<&Arc<Allocation>> {
        self.devices.get(usize::try_from(device).ok()?)?.find(address)
    }

    /// Returns the device or unified memory of any device that an address lies in.
    #[inline]
    pub fn on_any_device(&self, address: u64) -> Option<&Arc<Allocation>> {
        self.devices.iter().find_map(|arena| arena.find(address))
    }

    /// Returns the pinned memory of the host that an address lies in.
    #[inline]
    pub fn on_host(&self, address: u64) -> Option<&Arc<Allocation>> {
        self.host.find(address)
    }

    /// Returns the allocation, of whatever kind, that begins at an address or that the address lies in.
    pub fn anywhere(&self, address: u64) -> Option<&Arc<Allocation>> {
        let arenas = || self.devices.iter().chain([&self.host]);
        arenas()
            .find_map(|arena| arena.at(address))
            .or_else(|| arenas().find_map(|arena| arena.find(address)))
    }

    /// Returns true if no memory lies in a range.
    pub fn is_clear(&self, start: u64, end: u64) -> bool {
        let mut arenas = self.devices.iter().chain([&self.host]);
        let last = |arena: &Arena| arena.ranges.range(..end).next_back().map_or(0, |(_, one)| one.end());
        arenas.all(|arena| last(arena) <= start)
    }

    /// Returns the memory of a device, or of all.
    pub fn all(&self, device: Option<i32>) -> impl Iterator<Item = &Arc<Allocation>> {
        let arenas = self.devices.iter().chain([&self.host]);
        arenas.flat_map(Arena::all).filter(move |one| device.is_none_or(|device| one.device == device))
    }

    /// Returns the memory of a device or of the host; `None` if no machine has as many devices.
    fn arena_mut(&mut self, device: i32, space: Space) -> Option<&mut Arena> {
        if space == Space::Host {
            return Some(&mut self.host);
        }
        let device = usize::try_from(device).ok().filter(|device| *device < 4096)?;
        if self.devices.len() <= device {
            self.devices.resize_with(device + 1, Arena::default);
        }
        self.devices.get_mut(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(start: u64, size: u64) -> Arc<Allocation> {
        Arc::new(Allocation::new(start, size, 0, Space::Device, CallSite::new("test", false)))
    }

    #[test]
    fn an_address_finds_the_allocation_that_it_lies_in() {
        let mut memory = Memory::default();
        for start in [0x1000, 0x3000, 0x2000] {
            assert!(memory.insert(allocation(start, 0x800)).is_none());
        }
        for (address, start) in [(0x1000, 0x1000), (0x17ff, 0x1000), (0x2001, 0x2000), (0x37ff, 0x3000)] {
            assert_eq!(memory.on_device(0, address).unwrap().start, start);
            assert_eq!(memory.on_any_device(address).unwrap().start, start);
        }
        for address in [0, 0xfff, 0x1800, 0x1fff, 0x3800, u64::MAX] {
            assert!(memory.on_device(0, address).is_none(), "{address:#x}");
        }
        assert!(memory.on_device(1, 0x1000).is_none());
        assert!(memory.on_device(-1, 0x1000).is_none());
        assert!(memory.on_host(0x1000).is_none());
    }

    #[test]
    fn memory_that_is_given_out_twice_is_found() {
        let mut memory = Memory::default();
        memory.insert(allocation(0x1000, 0x800));
        assert_eq!(memory.insert(allocation(0x1400, 0x800)).unwrap().start, 0x1000);
        assert_eq!(memory.insert(allocation(0x1000, 0x401)).unwrap().start, 0x1400);
        assert!(memory.insert(allocation(0x1401, 0x10)).is_none());
    }

    #[test]
    fn empty_allocations_may_share_an_address() {
        let mut memory = Memory::default();
        memory.insert(allocation(0x10, 0x10));
        memory.insert(allocation(0x10, 0));
        memory.insert(allocation(0x10, 0));
        assert_eq!(memory.all(None).count(), 3);
        assert!(memory.remove(0, Space::Device, 0x10, 0).is_some());
        assert!(memory.remove(0, Space::Device, 0x10, 0).is_some());
        assert!(memory.remove(0, Space::Device, 0x10, 0).is_none());
        assert!(memory.remove(0, Space::Host, 0x10, 0x10).is_none());
        assert!(memory.remove(0, Space::Device, 0x10, 0x10).is_some());
    }
}
