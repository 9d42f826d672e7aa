//! Locks without poisoning. A panic is reported where it happens; a poisoned lock would only add a failure in each thread that
//! uses it later.

use std::sync::{
    self, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError, WaitTimeoutResult,
};
use std::time::Duration;

/// A mutex whose lock cannot fail.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes a mutex with a value.
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no other thread has the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock; `None` if a thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        unless_locked(self.0.try_lock())
    }

    /// Returns the value without a lock: no other thread can use it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for many readers or one writer, which cannot fail.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Makes a lock with a value.
    pub const fn new(value: T) -> Self {
        RwLock(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes, and takes the lock for reading.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread has the lock, and takes it for writing.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock for reading; `None` if a thread writes.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        unless_locked(self.0.try_read())
    }

    /// Takes the lock for writing; `None` if a thread has it.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        unless_locked(self.0.try_write())
    }
}

#[inline]
fn unless_locked<G>(tried: Result<G, TryLockError<G>>) -> Option<G> {
    match tried {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A condition variable whose wait cannot fail.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Makes a condition variable.
    pub const fn new() -> Self {
        Condvar(sync::Condvar::new())
    }

    /// Releases the lock, waits until the condition variable is notified, and takes the lock again. It may return earlier.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as [`wait`](Self::wait) does, but not longer than `limit`.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.0.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the condition holds, but not longer than `limit`.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.0.wait_timeout_while(guard, limit, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{Mutex, RwLock};

    #[test]
    fn a_panic_leaves_the_locks_usable() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let (_mutex, _lock) = (mutex.lock(), lock.write());
                panic!("while both are held");
            });
            holder.join()
        });
        assert!(panicked.is_err());
        *mutex.lock() += 1;
        *lock.write() += 1;
        assert_eq!((mutex.into_inner(), *lock.read()), (2, 2));
    }
}
