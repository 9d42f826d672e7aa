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

#[cfg(not(loom))]
mod imp {
    use super::{InsideWork, Settling};
    use std::cell::Cell;

    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
        static SETTLING: Cell<bool> = const { Cell::new(false) };
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
    use super::{InsideWork, Settling};

    pub(crate) fn enter() -> InsideWork {
        InsideWork {}
    }

    pub(crate) fn settle() -> Option<Settling> {
        Some(Settling(()))
    }

    pub(crate) fn is_inside() -> bool {
        false
    }
}

pub(crate) use imp::{enter, is_inside, settle};
