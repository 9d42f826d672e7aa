//! The kinds of handles, their tables, and the failures for handles that are not live.

use std::sync::Arc;

use tenon::handle::{self, HandleTable, InsertError};

use crate::error::Failure;

/// The kind of object that a handle identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HandleKind {
    Device = 1,
    Plugin = 2,
    Buffer = 3,
}

impl HandleKind {
    const ALL: [HandleKind; 3] = [HandleKind::Device, HandleKind::Plugin, HandleKind::Buffer];

    fn name(self) -> &'static str {
        match self {
            HandleKind::Device => "device",
            HandleKind::Plugin => "plugin",
            HandleKind::Buffer => "buffer",
        }
    }
}

/// Returns the failure of a call that was passed a handle of no live object.
#[cold]
pub(crate) fn bad_handle(kind: HandleKind, handle: usize) -> Failure {
    let name = kind.name();
    let found = HandleKind::ALL.into_iter().find(|known| *known as u8 == handle::kind(handle));
    Failure::handle(match found {
        _ if handle == 0 => format!("the handle of a {name} is null"),
        Some(found) if found == kind => {
            format!("{handle:#x} is not an open {name}: it was closed, or never opened")
        }
        Some(found) => format!("{handle:#x} has the form of a {}, where a {name} is needed", found.name()),
        None => format!("{handle:#x} is not a {name} of this library"),
    })
}

/// A [`HandleTable`] with the failures of this library.
pub(crate) struct Handles<T> {
    kind: HandleKind,
    pub(crate) table: HandleTable<T>,
}

impl<T> Handles<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Handles { kind, table: HandleTable::new(kind as u8) }
    }

    /// Stores the object that `make` returns for its handle.
    pub(crate) fn insert_with(&self, make: impl FnOnce(usize) -> T) -> Result<(usize, Arc<T>), Failure> {
        self.table.try_insert_with(make).map_err(|error| match error {
            InsertError::Full => {
                Failure::busy(format!("there are {} {}s already", handle::CAPACITY, self.kind.name()))
            }
            InsertError::OutOfMemory => Failure::no_room(),
        })
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>, Failure> {
        self.with(handle, Arc::clone)
    }

    /// Reads an object. No thread can remove it during the call.
    pub(crate) fn with<R>(&self, handle: usize, read: impl FnOnce(&Arc<T>) -> R) -> Result<R, Failure> {
        self.table.with(handle, read).ok_or_else(|| bad_handle(self.kind, handle))
    }

    /// Removes a handle unless `check` fails for its object, as one atomic step.
    pub(crate) fn remove_if(
        &self,
        handle: usize,
        check: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<Arc<T>, Failure> {
        self.table.remove_if(handle, check).unwrap_or_else(|| Err(bad_handle(self.kind, handle)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn removed_handle_fails_as_invalid() {
        let buffers = Handles::new(HandleKind::Buffer);
        let (handle, _) = buffers.insert_with(|_| 1).unwrap();
        assert_eq!(*buffers.remove_if(handle, |_| Ok(())).unwrap(), 1);
        let failure = buffers.get(handle).unwrap_err();
        assert_eq!(failure.status(), Status::INVALID_HANDLE);
        assert!(failure.to_string().contains("it was closed"), "{failure:?}");
    }

    #[test]
    fn failed_check_keeps_the_object() {
        let plugins = Handles::new(HandleKind::Plugin);
        let (handle, _) = plugins.insert_with(|_| ()).unwrap();
        let refused = plugins.remove_if(handle, |()| Err(Failure::busy("in use")));
        assert_eq!(refused.unwrap_err().status(), Status::BUSY);
        assert!(plugins.get(handle).is_ok());
    }

    #[test]
    fn failure_names_null_and_handles_of_other_kinds() {
        let message = |handle| bad_handle(HandleKind::Device, handle).to_string();
        assert!(message(0).contains("null"));
        assert!(message(handle::encode(HandleKind::Plugin as u8, 3, 1)).contains("form of a plugin"));
        assert!(message(usize::MAX).contains("not a device of this library"));
    }
}
