//! Handles that can be checked: a table of slots, each with a generation.
//!
//! A handle is `kind << 60 | generation << 32 | index + 1`: never zero, never the same for two
//! kinds, and never valid again once what it named is gone.

use crate::error::{Error, Result};
use crate::handle::HandleKind;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const _: () = assert!(usize::BITS == 64, "handles need 64 bits");

const INDEX_BITS: u32 = 32;
const GENERATION_BITS: u32 = 28;
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// A table from handles to shared values.
pub(crate) struct Slab<T> {
    kind: HandleKind,
    table: RwLock<Table<T>>,
}

struct Table<T> {
    slots: Vec<Slot<T>>,
    vacant: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

impl<T> Slab<T> {
    pub(crate) fn new(kind: HandleKind) -> Self {
        Self { kind, table: RwLock::new(Table { slots: Vec::new(), vacant: Vec::new() }) }
    }

    /// Stores what `make` builds for its own handle.
    pub(crate) fn insert_with(&self, make: impl FnOnce(usize) -> Arc<T>) -> usize {
        let mut table = self.write();
        let index = table.vacant.pop().unwrap_or_else(|| {
            table.slots.push(Slot { generation: 1, value: None });
            (table.slots.len() - 1) as u32
        });
        let handle = self.encode(index, table.slots[index as usize].generation);
        table.slots[index as usize].value = Some(make(handle));
        handle
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>> {
        let table = self.read();
        self.decode(handle)
            .and_then(|(index, generation)| {
                let slot = table.slots.get(index)?;
                slot.value.as_ref().filter(|_| slot.generation == generation).cloned()
            })
            .ok_or(Error::InvalidHandle { kind: self.kind, handle })
    }

    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>> {
        self.remove_if(handle, |_| Ok(()))
    }

    /// Removes the value unless `check` objects to it; the two happen as one step.
    pub(crate) fn remove_if(&self, handle: usize, check: impl FnOnce(&T) -> Result<()>) -> Result<Arc<T>> {
        let unknown = Error::InvalidHandle { kind: self.kind, handle };
        let Some((index, generation)) = self.decode(handle) else { return Err(unknown) };
        let mut table = self.write();
        let Some(slot) = table.slots.get_mut(index) else { return Err(unknown) };
        if slot.generation != generation {
            return Err(unknown);
        }
        check(slot.value.as_ref().ok_or(unknown.clone())?)?;
        let value = slot.value.take().ok_or(unknown)?;
        table.vacate(index);
        Ok(value)
    }

    /// Removes everything; all handles given out so far become stale.
    pub(crate) fn drain(&self) -> Vec<Arc<T>> {
        let mut table = self.write();
        let mut values = Vec::new();
        for index in 0..table.slots.len() {
            if let Some(value) = table.slots[index].value.take() {
                values.push(value);
                table.vacate(index);
            }
        }
        values
    }

    /// The values that satisfy `wanted`, in the order of their slots.
    pub(crate) fn select(&self, wanted: impl Fn(&Arc<T>) -> bool) -> Vec<Arc<T>> {
        let table = self.read();
        table.slots.iter().filter_map(|slot| slot.value.as_ref()).filter(|v| wanted(v)).cloned().collect()
    }

    fn encode(&self, index: u32, generation: u32) -> usize {
        (self.kind as usize) << (INDEX_BITS + GENERATION_BITS)
            | (generation as usize) << INDEX_BITS
            | (index as usize + 1)
    }

    fn decode(&self, handle: usize) -> Option<(usize, u32)> {
        let kind = handle >> (INDEX_BITS + GENERATION_BITS);
        let index = (handle & u32::MAX as usize).checked_sub(1)?;
        let generation = (handle >> INDEX_BITS) as u32 & LAST_GENERATION;
        (kind == self.kind as usize).then_some((index, generation))
    }

    fn read(&self) -> RwLockReadGuard<'_, Table<T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Table<T> {
    /// A slot out of generations is never used again, so that no old handle can come alive.
    fn vacate(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.generation < LAST_GENERATION {
            slot.generation += 1;
            self.vacant.push(index as u32);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slab() -> Slab<&'static str> {
        Slab::new(HandleKind::Event)
    }

    #[test]
    fn finds_what_was_stored() {
        let slab = slab();
        let (a, b) = (slab.insert_with(|_| Arc::new("a")), slab.insert_with(|_| Arc::new("b")));
        assert_ne!(a, b);
        assert_eq!((*slab.get(a).unwrap(), *slab.get(b).unwrap()), ("a", "b"));
    }

    #[test]
    fn a_removed_handle_stays_dead_when_its_slot_is_used_again() {
        let slab = slab();
        let old = slab.insert_with(|_| Arc::new("old"));
        slab.remove(old).unwrap();
        let new = slab.insert_with(|_| Arc::new("new"));
        assert_eq!(old & 0xffff_ffff, new & 0xffff_ffff, "the slot should be used again");
        assert_eq!(slab.get(old), Err(Error::InvalidHandle { kind: HandleKind::Event, handle: old }));
        assert!(slab.remove(old).is_err());
        assert_eq!(*slab.get(new).unwrap(), "new");
    }

    #[test]
    fn made_up_handles_and_other_kinds_name_nothing() {
        let slab = slab();
        let real = slab.insert_with(|_| Arc::new("x"));
        let other = Slab::new(HandleKind::Stream).insert_with(|_| Arc::new("y"));
        for handle in [0, 1, usize::MAX, real + 1, real ^ (1 << 40), other] {
            assert!(slab.get(handle).is_err(), "{handle:#x}");
            assert!(slab.remove(handle).is_err(), "{handle:#x}");
        }
    }

    #[test]
    fn an_objection_leaves_the_value_in_place() {
        let slab = slab();
        let handle = slab.insert_with(|_| Arc::new("x"));
        assert_eq!(slab.remove_if(handle, |_| Err(Error::ShutDown)), Err(Error::ShutDown));
        assert!(slab.get(handle).is_ok());
    }

    #[test]
    fn a_slot_out_of_generations_is_retired() {
        let slab = slab();
        let handle = slab.insert_with(|_| Arc::new("x"));
        slab.table.write().unwrap().slots[0].generation = LAST_GENERATION;
        assert!(slab.get(handle).is_err());
        let last = slab.encode(0, LAST_GENERATION);
        slab.remove(last).unwrap();
        let next = slab.insert_with(|_| Arc::new("y"));
        assert_eq!(next & 0xffff_ffff, 2, "the first slot must not be used again");
    }
}
