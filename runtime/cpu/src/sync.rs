//! The synchronisation primitives of the stream core: the standard ones, or loom's under
//! `--cfg loom`, with poisoning left out.
//!
//! A panic inside the device is reported where it happens. A poisoned lock would only add a failure in another
//! thread.

#[cfg(loom)]
pub(crate) use loom::hint;
#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
pub(crate) use std::hint;
#[cfg(not(loom))]
use std::sync as imp;

pub(crate) use imp::MutexGuard;
pub(crate) use imp::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::PoisonError;

/// A mutex whose lock cannot fail.
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable whose wait cannot fail.
pub(crate) struct Condvar(imp::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(imp::Condvar::new())
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
