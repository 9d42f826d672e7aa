//! The kinds of handles, and the tables in which they are looked up.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;
use tenon::handle::{HandleTable, InsertError};
use tenon::support::has_room;

/// The kind of object that a handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HandleKind {
    /// A stream.
    Stream = 1,
    /// An event.
    Event = 2,
    /// A captured graph.
    Graph = 3,
    /// An executable graph.
    Exec = 4,
    /// A node of a graph.
    Node = 5,
    /// A numerical library's handle.
    Library = 6,
    /// A communicator of several processes.
    Communicator = 7,
}

impl fmt::Display for HandleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Event => "event",
            Self::Graph => "graph",
            Self::Exec => "executable graph",
            Self::Node => "graph node",
            Self::Library => "library handle",
            Self::Communicator => "communicator",
        })
    }
}

/// A [`HandleTable`] with the errors of this crate.
pub(crate) struct Handles<T> {
    kind: HandleKind,
    pub(crate) table: HandleTable<T>,
}

impl<T> Handles<T> {
    pub(crate) fn new(kind: HandleKind) -> Self {
        Self { kind, table: HandleTable::new(kind as u8) }
    }

    /// Stores the object that `make` returns for its handle.
    pub(crate) fn insert_with(&self, make: impl FnOnce(usize) -> Arc<T>) -> Result<usize> {
        if !has_room() {
            return Err(Error::OutOfHostMemory);
        }
        let (handle, _) = self.table.try_insert_with(make).map_err(|error| match error {
            InsertError::Full => Error::TooManyHandles { kind: self.kind },
            InsertError::OutOfMemory => Error::OutOfHostMemory,
        })?;
        Ok(handle)
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>> {
        self.table.get(handle).ok_or(Error::InvalidHandle { kind: self.kind, handle })
    }

    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>> {
        self.remove_if(handle, |_| Ok(()))
    }

    /// Removes a handle unless `check` fails for its object. Check and removal are atomic.
    pub(crate) fn remove_if(&self, handle: usize, check: impl FnOnce(&T) -> Result<()>) -> Result<Arc<T>> {
        let removed = self.table.remove_if(handle, check);
        removed.unwrap_or(Err(Error::InvalidHandle { kind: self.kind, handle }))
    }

    /// Removes everything; all handles given out so far become stale.
    pub(crate) fn clear(&self) {
        self.table.remove_all(|_| true);
    }
}
