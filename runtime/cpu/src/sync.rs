//! The synchronisation primitives of the stream core: those of `tenon`, or loom's under `--cfg loom`.

#[cfg(loom)]
pub(crate) use checked::{Condvar, Mutex};
#[cfg(loom)]
pub(crate) use loom::{hint, sync::MutexGuard, sync::atomic};
#[cfg(not(loom))]
pub(crate) use std::{hint, sync::MutexGuard, sync::atomic};
#[cfg(not(loom))]
pub(crate) use tenon::support::{Condvar, Mutex};

pub(crate) use atomic::{AtomicU64, AtomicUsize, Ordering};

/// Loom's locks with the methods of `tenon`'s, which cannot fail.
#[cfg(loom)]
mod checked {
    use std::sync::PoisonError;

    use loom::sync::{self, MutexGuard};

    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    pub(crate) struct Condvar(sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
