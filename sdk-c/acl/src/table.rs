//! Handles: numbers in the shape of pointers, which are looked up and never followed.
//!
//! A handle holds the index of a place, the kind of thing, and a serial number that is given once. So a null one, a
//! stale one, one of another kind and a number that somebody made up are all found out.

use std::sync::{Arc, PoisonError, RwLock};

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;

const _: () = assert!(usize::BITS == 64, "handles need 64 bits");

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
    /// Settings of streams.
    StreamConfig = 9,
    Notify = 4,
    DataBuffer = 5,
    TensorDesc = 6,
    /// Physical memory.
    Physical = 7,
    /// A failure of queued work.
    Failure = 8,
    Buffer = 10,
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

/// Everything of one kind that is alive, by its handle. Any thread may use it.
pub(crate) struct Table<T> {
    kind: Kind,
    slots: RwLock<Slots<T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Table { kind, slots: RwLock::new(Slots { slots: Vec::new(), free: Vec::new(), serial: 0 }) }
    }

    /// Takes something in, which may learn its handle; `None` when a million are alive.
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

    /// What a handle stands for, if it is alive.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.slots.get(index(handle))?;
        if slot.handle == handle { slot.value.clone() } else { None }
    }

    /// Takes a handle away; only one caller gets what it stood for.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.slots.get_mut(index(handle)).filter(|slot| slot.handle == handle)?;
        let value = slot.value.take()?;
        slot.handle = 0;
        slots.free.push(index(handle));
        Some(value)
    }

    /// Everything that is alive.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.slots.iter().filter_map(|slot| slot.value.clone()).collect()
    }
}

/// The place of a handle in its table: small, and given again.
pub(crate) fn index(handle: usize) -> usize {
    handle & ((1 << INDEX_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_given_once_and_is_of_one_kind() {
        let (streams, events) = (Table::new(Kind::Stream), Table::new(Kind::Event));
        let first = streams.insert_with(|handle| handle).unwrap();
        let event = events.insert_with(|handle| handle).unwrap();
        assert!(streams.get(*first).is_some());
        assert!(streams.get(*event).is_none(), "of another kind");
        assert!(streams.get(0).is_none() && streams.get(usize::MAX).is_none());
        assert!(streams.remove(*first).is_some());
        assert!(streams.remove(*first).is_none(), "gone already");
        let second = streams.insert_with(|handle| handle).unwrap();
        assert_ne!(first, second);
        assert!(streams.get(*first).is_none(), "its place is somebody else's");
        assert_eq!(streams.all(), [second]);
    }
}
