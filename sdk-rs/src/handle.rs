//! Handles that can be checked: numbers in the form of pointers, which are looked up and never dereferenced.
//!
//! A device gives handles to C code, which may pass back null, a handle that was destroyed, one of another kind, or any
//! number. A [`HandleTable`] detects all of these:
//!
//! ```
//! use tenon::handle::HandleTable;
//!
//! static STREAMS: HandleTable<String> = HandleTable::new(1);
//!
//! let (handle, stream) = STREAMS.insert_with(|handle| format!("stream {handle:#x}")).unwrap();
//! assert_eq!(STREAMS.get(handle), Some(stream));
//! STREAMS.remove(handle);
//! assert_eq!(STREAMS.get(handle), None);
//! ```
//!
//! A handle is `kind << 60 | generation << 24 | index + 1`. It is never null, and no process can map it as an
//! address, so code that dereferences it by mistake crashes at once.

use crate::support::RwLock;
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 36;
const KIND_BITS: u32 = 4;
const LAST_GENERATION: u64 = (1 << GENERATION_BITS) - 1;

const _: () = assert!(usize::BITS == INDEX_BITS + GENERATION_BITS + KIND_BITS, "handles need 64 bits");

/// The reason for which a table rejected an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// The table has [`CAPACITY`] objects.
    Full,
    /// The host has no memory for a slot.
    OutOfMemory,
}

impl std::fmt::Display for InsertError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            InsertError::Full => "the table is full",
            InsertError::OutOfMemory => "out of host memory",
        })
    }
}

impl std::error::Error for InsertError {}

/// The maximum number of objects in a table.
pub const CAPACITY: usize = (1 << INDEX_BITS) - 1;

/// Returns the handle of a slot. Different arguments yield different handles.
///
/// For tables that need more than [`HandleTable`] does. `kind` is below 16, `index` is below [`CAPACITY`], and
/// `generation` is below 2^36; higher bits are ignored.
#[must_use]
pub const fn encode(kind: u8, index: usize, generation: u64) -> usize {
    (kind as usize) << (INDEX_BITS + GENERATION_BITS)
        | ((generation & LAST_GENERATION) as usize) << INDEX_BITS
        | ((index + 1) & CAPACITY)
}

/// Returns the slot index in a handle; slots are reused. For null it is out of range for every table.
#[must_use]
#[inline]
pub const fn index(handle: usize) -> usize {
    (handle & CAPACITY).wrapping_sub(1)
}

/// Returns the kind in a handle. For a handle that no table made, it may be any number below 16.
#[must_use]
pub const fn kind(handle: usize) -> u8 {
    (handle >> (INDEX_BITS + GENERATION_BITS)) as u8
}

const fn generation(handle: usize) -> u64 {
    (handle >> INDEX_BITS) as u64 & LAST_GENERATION
}

/// The live objects of one kind, by handle. Any thread may use it.
///
/// A removed handle never becomes valid again: each use of a slot has another generation, and a slot whose
/// generations are used up is retired.
pub struct HandleTable<T> {
    kind: u8,
    slots: RwLock<Slots<T>>,
}

struct Slots<T> {
    all: Vec<Slot<T>>,
    vacant: Vec<usize>,
}

struct Slot<T> {
    generation: u64,
    value: Option<Arc<T>>,
}

impl<T> HandleTable<T> {
    /// Returns an empty table for handles of a kind, a number below 16.
    ///
    /// # Panics
    /// If `kind` is 16 or more.
    #[must_use]
    pub const fn new(kind: u8) -> Self {
        assert!(kind >> KIND_BITS == 0, "a kind is a number below 16");
        HandleTable { kind, slots: RwLock::new(Slots { all: Vec::new(), vacant: Vec::new() }) }
    }

    /// Inserts the object that `make` returns for its handle. Returns `None` if the table is full or the host has no
    /// memory for a slot.
    ///
    /// `make` must not use the table.
    pub fn insert_with<V: Into<Arc<T>>>(&self, make: impl FnOnce(usize) -> V) -> Option<(usize, Arc<T>)> {
        self.try_insert_with(make).ok()
    }

    /// Inserts like [`HandleTable::insert_with`], and returns the reason for a failure.
    ///
    /// # Errors
    /// If the table cannot take the object. `make` is not called then.
    pub fn try_insert_with<V: Into<Arc<T>>>(
        &self,
        make: impl FnOnce(usize) -> V,
    ) -> Result<(usize, Arc<T>), InsertError> {
        let mut slots = self.write();
        // The slot stays vacant if `make` panics.
        let index = slots.vacant_slot()?;
        let handle = encode(self.kind, index, slots.all[index].generation);
        let value: Arc<T> = make(handle).into();
        slots.vacant.pop();
        slots.all[index].value = Some(value.clone());
        Ok((handle, value))
    }

    /// Returns the object of a handle, if it is live.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.with(handle, Arc::clone)
    }

    /// Calls `read` with the object of a handle, if it is live. The object is not removed during the call.
    pub fn with<R>(&self, handle: usize, read: impl FnOnce(&Arc<T>) -> R) -> Option<R> {
        let slots = self.read();
        let slot = slots.all.get(self.index_of(handle)?)?;
        slot.value.as_ref().filter(|_| slot.generation == generation(handle)).map(read)
    }

    /// Removes a handle. If several threads try, only one gets the object.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.remove_if(handle, |_| Ok::<(), std::convert::Infallible>(()))?.ok()
    }

    /// Removes a handle unless `check` fails for its object, as one atomic step. Returns `None` if the handle is not
    /// live.
    ///
    /// `check` must not use the table.
    pub fn remove_if<E>(
        &self,
        handle: usize,
        check: impl FnOnce(&T) -> Result<(), E>,
    ) -> Option<Result<Arc<T>, E>> {
        let index = self.index_of(handle)?;
        let mut slots = self.write();
        let slot = slots.all.get(index).filter(|slot| slot.generation == generation(handle))?;
        if let Err(refusal) = check(slot.value.as_deref()?) {
            return Some(Err(refusal));
        }
        slots.vacate(index).map(Ok)
    }

    /// Removes the objects for which `which` returns true.
    ///
    /// `which` must not use the table.
    pub fn remove_all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut slots = self.write();
        let wanted = |slot: &Slot<T>| slot.value.as_deref().is_some_and(&which);
        let chosen: Vec<usize> = (0..slots.all.len()).filter(|&index| wanted(&slots.all[index])).collect();
        chosen.into_iter().filter_map(|index| slots.vacate(index)).collect()
    }

    /// Removes all objects, or none if `check` fails for one of them.
    ///
    /// `check` must not use the table.
    ///
    /// # Errors
    /// The first error of `check`.
    pub fn remove_all_if<E>(&self, check: impl Fn(&T) -> Result<(), E>) -> Result<Vec<Arc<T>>, E> {
        let mut slots = self.write();
        slots.all.iter().filter_map(|slot| slot.value.as_deref()).try_for_each(check)?;
        Ok((0..slots.all.len()).filter_map(|index| slots.vacate(index)).collect())
    }

    /// Returns all live objects, in the order of their slots.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.read().all.iter().filter_map(|slot| slot.value.clone()).collect()
    }

    /// Returns the index of a handle of this table's kind.
    #[inline]
    fn index_of(&self, handle: usize) -> Option<usize> {
        (kind(handle) == self.kind).then_some(index(handle))
    }

    fn read(&self) -> RwLockReadGuard<'_, Slots<T>> {
        self.slots.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Slots<T>> {
        self.slots.write()
    }
}

impl<T> Slots<T> {
    /// Returns the index of a vacant slot, and leaves it in the list of vacant slots.
    fn vacant_slot(&mut self) -> Result<usize, InsertError> {
        if let Some(index) = self.vacant.last() {
            return Ok(*index);
        }
        let index = self.all.len();
        if index >= CAPACITY {
            return Err(InsertError::Full);
        }
        self.all.try_reserve(1).map_err(|_| InsertError::OutOfMemory)?;
        // Reserves room for every slot, so that a removal needs no memory.
        self.vacant.try_reserve(index + 1).map_err(|_| InsertError::OutOfMemory)?;
        self.all.push(Slot { generation: 1, value: None });
        self.vacant.push(index);
        Ok(index)
    }

    /// Takes the object of a slot. The slot is reused unless its generations are used up.
    fn vacate(&mut self, index: usize) -> Option<Arc<T>> {
        let slot = &mut self.all[index];
        let value = slot.value.take()?;
        if slot.generation < LAST_GENERATION {
            slot.generation += 1;
            self.vacant.push(index);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u8 = 2;

    fn table() -> HandleTable<&'static str> {
        HandleTable::new(KIND)
    }

    fn insert(table: &HandleTable<&'static str>, value: &'static str) -> usize {
        table.insert_with(|_| value).unwrap().0
    }

    fn get(table: &HandleTable<&'static str>, handle: usize) -> Option<&'static str> {
        table.get(handle).as_deref().copied()
    }

    #[test]
    fn get_live_handle_returns_its_object() {
        let table = table();
        let (a, b) = (insert(&table, "a"), insert(&table, "b"));
        assert_ne!(a, b);
        assert_eq!((get(&table, a), get(&table, b)), (Some("a"), Some("b")));
        assert_eq!(table.all().len(), 2);
    }

    #[test]
    fn insert_with_passes_the_handle() {
        let table = HandleTable::<usize>::new(KIND);
        let (handle, value) = table.insert_with(|handle| handle).unwrap();
        assert_eq!(*value, handle);
    }

    #[test]
    fn removed_handle_stays_stale_when_its_slot_is_reused() {
        let table = table();
        let old = insert(&table, "old");
        assert_eq!(table.remove(old).as_deref(), Some(&"old"));
        assert_eq!(table.remove(old), None);
        let new = insert(&table, "new");
        assert_eq!(index(old), index(new), "the slot is reused");
        assert_eq!((get(&table, old), get(&table, new)), (None, Some("new")));
        assert_eq!(table.remove(old), None);
    }

    #[test]
    fn get_unknown_handle_or_other_kind_returns_none() {
        let table = table();
        let real = insert(&table, "x");
        let other = HandleTable::<&str>::new(KIND + 1).insert_with(|_| "y").unwrap().0;
        for handle in [0, 1, usize::MAX, real + 1, real ^ (1 << 40), real ^ (1 << 63), other] {
            assert!(table.get(handle).is_none(), "{handle:#x}");
            assert!(table.remove(handle).is_none(), "{handle:#x}");
        }
        assert_eq!(kind(real), KIND);
    }

    #[test]
    fn remove_if_keeps_the_object_when_the_check_fails() {
        let table = table();
        let handle = insert(&table, "x");
        assert_eq!(table.remove_if(handle, |_| Err("in use")), Some(Err("in use")));
        assert_eq!(get(&table, handle), Some("x"));
    }

    #[test]
    fn remove_all_removes_matching_objects() {
        let table = table();
        let (a, b) = (insert(&table, "a"), insert(&table, "b"));
        assert_eq!(table.remove_all(|value| *value == "a").len(), 1);
        assert_eq!((get(&table, a), get(&table, b)), (None, Some("b")));
    }

    #[test]
    fn remove_all_if_removes_all_or_none() {
        let table = table();
        let (a, b) = (insert(&table, "a"), insert(&table, "b"));
        let refused = table.remove_all_if(|value| if *value == "b" { Err(()) } else { Ok(()) });
        assert_eq!((refused, get(&table, a)), (Err(()), Some("a")));
        assert_eq!(table.remove_all_if(|_| Ok::<(), ()>(())).unwrap().len(), 2);
        insert(&table, "c");
        insert(&table, "d");
        assert_eq!((get(&table, a), get(&table, b)), (None, None), "both handles are stale");
    }

    #[test]
    fn slot_is_retired_after_its_last_generation() {
        let table = table();
        insert(&table, "x");
        table.write().all[0].generation = LAST_GENERATION;
        assert!(table.remove(encode(KIND, 0, LAST_GENERATION)).is_some());
        assert_eq!(index(insert(&table, "y")), 1, "the first slot is not reused");
    }

    #[test]
    fn panic_in_make_leaves_the_slot_vacant() {
        let table = table();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            table.insert_with(|_| -> &'static str { panic!("no object") });
        }));
        assert!(made.is_err());
        assert_eq!(index(insert(&table, "x")), 0);
    }
}
