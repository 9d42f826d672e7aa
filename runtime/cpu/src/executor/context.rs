//! The work that the calling thread is running.
//!
//! The cells have no destructors on purpose: a destructor would be registered with the C library for every
//! calling thread of the host, and would prevent the unloading of a plugin.

/// Marks the thread as being inside stream work until dropped.
#[must_use = "the thread is inside of the work only while this lives"]
pub(crate) struct InsideWork {
    #[cfg(not(loom))]
    before: bool,
}

/// Marks the thread, until dropped, as running the work that is left after a shutdown.
pub(crate) struct Settling(());

/// Marks the thread, until dropped, as passing the records of a stream that it resumed.
pub(crate) struct Passing(());

#[cfg(not(loom))]
mod imp {
    use super::{InsideWork, Passing, Settling};
    use std::cell::Cell;

    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
        static SETTLING: Cell<bool> = const { Cell::new(false) };
        static PASSING: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn enter() -> InsideWork {
        InsideWork { before: INSIDE.replace(true) }
    }

    pub(crate) fn is_inside() -> bool {
        INSIDE.get()
    }

    /// Marks the thread. Returns `None` if it is marked already.
    pub(crate) fn settle() -> Option<Settling> {
        (!SETTLING.replace(true)).then_some(Settling(()))
    }

    /// Marks the thread. Returns `None` if it is marked already: a chain of streams must not become a recursion.
    pub(crate) fn pass_records() -> Option<Passing> {
        (!PASSING.replace(true)).then_some(Passing(()))
    }

    impl Drop for Passing {
        fn drop(&mut self) {
            PASSING.set(false);
        }
    }

    impl Drop for InsideWork {
        fn drop(&mut self) {
            INSIDE.set(self.before);
        }
    }

    impl Drop for Settling {
        fn drop(&mut self) {
            SETTLING.set(false);
        }
    }
}

/// The model checker runs all its threads on one system thread, so a thread-local cannot tell them apart.
#[cfg(loom)]
mod imp {
    use super::{InsideWork, Passing, Settling};

    pub(crate) fn enter() -> InsideWork {
        InsideWork {}
    }

    pub(crate) fn pass_records() -> Option<Passing> {
        Some(Passing(()))
    }

    pub(crate) fn settle() -> Option<Settling> {
        Some(Settling(()))
    }

    pub(crate) fn is_inside() -> bool {
        false
    }
}

pub(crate) use imp::{enter, is_inside, pass_records, settle};
