//! Handle tables. A handle is a number in the shape of a pointer; it is looked up and never dereferenced.
//!
//! A handle holds the index of a slot, a kind, and a serial number that is used once. So null, stale and invented handles
//! are detected, and those of another kind.

use std::sync::{Arc, PoisonError, RwLock};

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;

const _: () = assert!(usize::BITS == 64, "handles need 64 bits");

/// The kind of object that a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Context = 1,
    Stream = 2,
    Event = 3,
    StreamConfig = 9,
    Notify = 4,
    DataBuffer = 5,
    TensorDesc = 6,
    Physical = 7,
    Failure = 8,
    MessageBuffer = 10,
}

struct Slot<T> {
    handle: usize,
    value: Option<Arc<T>>,
}

struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    serial: usize,
}

/// All living objects of one kind by their handles. Any thread may use it.
pub(crate) struct Table<T> {
    kind: HandleKind,
    slots: RwLock<Slots<T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Table { kind, slots: RwLock::new(Slots { slots: Vec::new(), free: Vec::new(), serial: 0 }) }
    }

    /// Inserts the object that `make` returns for its handle; `None` when a million are alive.
    pub(crate) fn insert_with(&self, make: impl FnOnce(usize) -> T) -> Option<Arc<T>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let index = match slots.free.pop() {
            Some(index) => index,
            None if slots.slots.len() >> INDEX_BITS == 0 => {
                slots.slots.push(Slot { handle: 0, value: None });
                slots.slots.len() - 1
            }
            None => return None,
        };
        slots.serial += 1;
        let handle = ((slots.serial << KIND_BITS | self.kind as usize) << INDEX_BITS) | index;
        let value = Arc::new(make(handle));
        slots.slots[index] = Slot { handle, value: Some(value.clone()) };
        Some(value)
    }

    /// The object of a handle, if it is alive.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.slots.get(index(handle))?;
        if slot.handle == handle { slot.value.clone() } else { None }
    }

    /// Removes a handle. Of several callers only one gets the object.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.slots.get_mut(index(handle)).filter(|slot| slot.handle == handle)?;
        let value = slot.value.take()?;
        slot.handle = 0;
        slots.free.push(index(handle));
        Some(value)
    }

    /// All living objects.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.slots.iter().filter_map(|slot| slot.value.clone()).collect()
    }
}

/// The index of a handle's slot: small, and reused.
pub(crate) fn index(handle: usize) -> usize {
    handle & ((1 << INDEX_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_names_one_object_of_one_kind_once() {
        let (streams, events) = (Table::new(HandleKind::Stream), Table::new(HandleKind::Event));
        let first = streams.insert_with(|handle| handle).unwrap();
        let event = events.insert_with(|handle| handle).unwrap();
        assert!(streams.get(*first).is_some());
        assert!(streams.get(*event).is_none(), "of another kind");
        assert!(streams.get(0).is_none() && streams.get(usize::MAX).is_none());
        assert!(streams.remove(*first).is_some());
        assert!(streams.remove(*first).is_none(), "removed already");
        let second = streams.insert_with(|handle| handle).unwrap();
        assert_ne!(first, second);
        assert!(streams.get(*first).is_none(), "its slot is reused");
        assert_eq!(streams.all(), [second]);
    }
}
