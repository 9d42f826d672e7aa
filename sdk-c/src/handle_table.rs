//! Handles: numbers in the shape of pointers, which are looked up and never followed.
//!
//! A handle holds the index of a place, the kind of thing, and a serial number that is given once. So a null one, a
//! closed one, one of another kind and a number that somebody made up are all found out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Failure;

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;
const SERIAL_BITS: u32 = 40;

const _: () = assert!(usize::BITS == INDEX_BITS + KIND_BITS + SERIAL_BITS, "handles need 64 bits");

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device = 1,
    Plugin = 2,
    Buffer = 3,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Device => "device",
            Kind::Plugin => "plugin",
            Kind::Buffer => "buffer",
        }
    }
}

/// A handle that no other has had before.
pub(crate) fn fresh(kind: Kind, index: usize) -> usize {
    static SERIAL: AtomicUsize = AtomicUsize::new(1);
    let serial = loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed) & ((1 << SERIAL_BITS) - 1);
        // After 2^40 handles the numbers begin anew; 0 stays out, so that no handle is null.
        if serial != 0 {
            break serial;
        }
    };
    serial << (INDEX_BITS + KIND_BITS) | (kind as usize) << INDEX_BITS | index
}

/// The place that a handle speaks of, whatever its kind.
pub(crate) const fn index(handle: usize) -> usize {
    handle & ((1 << INDEX_BITS) - 1)
}

/// Why a handle leads nowhere.
#[cold]
pub(crate) fn bad(kind: Kind, handle: usize) -> Failure {
    let name = kind.name();
    let found = (handle >> INDEX_BITS) & ((1 << KIND_BITS) - 1);
    let other = [Kind::Device, Kind::Plugin, Kind::Buffer].into_iter().find(|other| *other as usize == found);
    Failure::handle(match other {
        _ if handle == 0 => format!("the handle of a {name} is null"),
        Some(other) if other == kind => {
            format!("{handle:#x} is no open {name}: it is closed, or it was never one")
        }
        Some(other) => format!("{handle:#x} has the form of a {}, where a {name} is needed", other.name()),
        None => format!("{handle:#x} is no {name} of this library"),
    })
}

struct Place<T> {
    handle: usize,
    value: Option<Arc<T>>,
}

/// Things by their handles.
pub(crate) struct Registry<T> {
    kind: Kind,
    places: RwLock<(Vec<Place<T>>, Vec<usize>)>,
}

impl<T> Registry<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Registry { kind, places: RwLock::new((Vec::new(), Vec::new())) }
    }

    /// Takes a thing in; it is made once its handle is known.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> T) -> Result<(usize, Arc<T>), Failure> {
        let mut guard = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let (places, free) = &mut *guard;
        let index = match free.pop() {
            Some(index) => index,
            None if places.len() >= 1 << INDEX_BITS => {
                return Err(Failure::busy(format!(
                    "there are {} {}s already",
                    places.len(),
                    self.kind.name()
                )));
            }
            None => {
                places.push(Place { handle: 0, value: None });
                places.len() - 1
            }
        };
        let handle = fresh(self.kind, index);
        let value = Arc::new(make(handle));
        places[index] = Place { handle, value: Some(value.clone()) };
        Ok((handle, value))
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>, Failure> {
        self.with(handle, Arc::clone)
    }

    /// Reads a thing while nobody can remove it.
    pub(crate) fn with<R>(&self, handle: usize, read: impl FnOnce(&Arc<T>) -> R) -> Result<R, Failure> {
        let guard = self.places.read().unwrap_or_else(PoisonError::into_inner);
        match guard.0.get(index(handle)) {
            Some(Place { handle: found, value: Some(value) }) if *found == handle => Ok(read(value)),
            _ => Err(bad(self.kind, handle)),
        }
    }

    /// Takes a thing out, if `may` agrees while nobody else can look.
    pub(crate) fn remove_if(
        &self,
        handle: usize,
        may: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<Arc<T>, Failure> {
        let mut guard = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let (places, free) = &mut *guard;
        let index = index(handle);
        let place = places.get_mut(index).filter(|place| place.handle == handle);
        let Some(value) = place.and_then(|place| place.value.take_if(|_| true).map(|value| (place, value)))
        else {
            return Err(bad(self.kind, handle));
        };
        let (place, value) = value;
        if let Err(failure) = may(&value) {
            place.value = Some(value);
            return Err(failure);
        }
        place.handle = 0;
        free.push(index);
        Ok(value)
    }

    /// Takes everything out, or nothing if `may` does not agree to one of them.
    pub(crate) fn drain_if(&self, may: impl Fn(&T) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut guard = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let (places, free) = &mut *guard;
        places.iter().filter_map(|place| place.value.as_deref()).try_for_each(may)?;
        places.clear();
        free.clear();
        Ok(())
    }

    /// Takes out everything that `which` wants.
    pub(crate) fn remove_all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut guard = self.places.write().unwrap_or_else(PoisonError::into_inner);
        let (places, free) = &mut *guard;
        let mut removed = Vec::new();
        for (index, place) in places.iter_mut().enumerate() {
            if let Some(value) = place.value.take_if(|value| which(value)) {
                place.handle = 0;
                free.push(index);
                removed.push(value);
            }
        }
        removed
    }

    /// Everything, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let guard = self.places.read().unwrap_or_else(PoisonError::into_inner);
        guard.0.iter().filter_map(|place| place.value.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn a_handle_leads_to_its_thing_until_it_is_removed_and_never_again() {
        let registry = Registry::new(Kind::Buffer);
        let (first, _) = registry.insert(|_| 1).unwrap();
        assert_eq!(*registry.get(first).unwrap(), 1);
        assert_eq!(*registry.remove_if(first, |_| Ok(())).unwrap(), 1);
        assert_eq!(registry.get(first).unwrap_err().status(), Status::INVALID_HANDLE);
        let (second, _) = registry.insert(|_| 2).unwrap();
        assert_eq!(index(first), index(second), "the place is used again");
        assert_ne!(first, second);
        assert!(registry.get(first).is_err());
        assert_eq!(*registry.get(second).unwrap(), 2);
    }

    #[test]
    fn what_may_not_go_stays() {
        let registry = Registry::new(Kind::Plugin);
        let (handle, _) = registry.insert(|_| ()).unwrap();
        let refused = registry.remove_if(handle, |()| Err(Failure::busy("in use")));
        assert_eq!(refused.unwrap_err().status(), Status::BUSY);
        assert!(registry.get(handle).is_ok());
    }

    #[test]
    fn numbers_that_nobody_gave_out_are_refused() {
        let registry = Registry::new(Kind::Device);
        let (handle, _) = registry.insert(|_| ()).unwrap();
        for hostile in [0, 1, usize::MAX, handle ^ 1, handle ^ (1 << 63), handle ^ (3 << INDEX_BITS)] {
            assert!(registry.get(hostile).is_err(), "{hostile:#x}");
        }
        assert!(bad(Kind::Device, 0).message().contains("null"));
        let plugin = fresh(Kind::Plugin, 3);
        assert!(bad(Kind::Device, plugin).message().contains("form of a plugin"));
    }
}
