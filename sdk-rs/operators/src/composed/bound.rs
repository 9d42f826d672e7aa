//! Values that only one thread may use.

use std::thread::{self, ThreadId};

use tenon::device::{Error, Result, Status};

/// A value that only the thread that made it can access.
#[derive(Debug)]
pub(super) struct ThreadBound<T> {
    value: T,
    thread: ThreadId,
}

// SAFETY: other threads do not get at the value, and `Copy` types have no destructor that could use it.
unsafe impl<T: Copy> Send for ThreadBound<T> {}
// SAFETY: as above.
unsafe impl<T: Copy> Sync for ThreadBound<T> {}

impl<T: Copy> ThreadBound<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value, thread: thread::current().id() }
    }

    /// Returns the value.
    pub(super) fn get(&self) -> Result<T> {
        if self.thread == thread::current().id() {
            Ok(self.value)
        } else {
            Err(Error::new(Status::INTERNAL_ERROR, "composed operators belong to the thread of their call"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_threads_get_an_error() {
        let bound = ThreadBound::new(1);
        assert_eq!(bound.get().unwrap(), 1);
        thread::scope(|scope| {
            scope.spawn(|| bound.get().unwrap_err());
        });
    }
}
