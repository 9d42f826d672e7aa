//! Failures of queued work, and the program's listeners for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::handles::HandleKind;
use super::thread_slots;
use crate::api::{AclError, ExceptionInfo, ExceptionInfoCallback};
use crate::error::{Result, refuse};

/// A task: a piece of queued work, which can fail after the call that queued it has returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    number: u32,
    thread: u32,
}

impl Task {
    /// Returns a number for the task that the calling thread is about to queue.
    pub(crate) fn next() -> Self {
        // SAFETY: it has no preconditions.
        let thread = unsafe { libc::gettid() };
        Task { number: thread_slots::last_task().wrapping_add(1), thread: thread.cast_unsigned() }
    }

    /// Returns the task that the calling thread queued last.
    pub(crate) fn last() -> Self {
        Task { number: thread_slots::last_task(), ..Self::next() }
    }
}

/// The record of a failure that listeners can query.
#[derive(Debug)]
pub(crate) struct Failure {
    handle: usize,
    pub(crate) code: u32,
    pub(crate) task: u32,
    pub(crate) stream: u32,
    pub(crate) thread: u32,
    pub(crate) device: u32,
}

/// A function of the program that is called with a handle of each failure's record.
#[derive(Clone)]
struct Listener {
    /// The address of the function, with which the program removes it.
    function: usize,
    call: Arc<dyn Fn(usize) + Send + Sync>,
}

impl Listener {
    fn new(callback: ExceptionInfoCallback) -> Self {
        let call = Arc::new(move |record| callback.call(ExceptionInfo::from_addr(record)));
        Listener { function: address(callback), call }
    }
}

fn address(callback: ExceptionInfoCallback) -> usize {
    callback.as_raw().map_or(0, |function| function as usize)
}

#[derive(Default)]
struct Listeners {
    set: Option<Listener>,
    added: Vec<Listener>,
}

/// The listeners, and the failures that are being reported.
pub(crate) struct Failures {
    listeners: Mutex<Listeners>,
    records: HandleTable<Failure>,
}

impl Default for Failures {
    fn default() -> Self {
        Failures { listeners: Mutex::default(), records: HandleTable::new(HandleKind::Failure as u8) }
    }
}

impl Failures {
    /// Returns true if a listener is registered.
    pub(super) fn has_listeners(&self) -> bool {
        let listeners = self.listeners();
        listeners.set.is_some() || !listeners.added.is_empty()
    }

    /// Calls the listeners. The caller holds no lock, and is not on a thread of the device.
    pub(super) fn report(&self, code: AclError, task: Task, stream: u32, device: u32) {
        let code = code.0.cast_unsigned();
        let Task { number: task, thread } = task;
        let record =
            self.records.insert_with(|handle| Failure { handle, code, task, stream, thread, device });
        // Cannot fail in practice: 16 million reports would have to be active at the same time.
        let Some((_, record)) = record else { return };
        let listeners: Vec<Listener> = {
            let listeners = self.listeners();
            listeners.set.iter().chain(&listeners.added).cloned().collect()
        };
        for listener in listeners {
            // The panic hook reports a panic; the other listeners still run.
            let _ = catch_unwind(AssertUnwindSafe(|| (listener.call)(record.handle)));
        }
        self.records.remove(record.handle);
    }

    /// Replaces the single listener.
    pub(crate) fn set_listener(&self, callback: Option<ExceptionInfoCallback>) {
        self.listeners().set = callback.map(Listener::new);
    }

    /// Adds a listener, unless it was already added.
    pub(crate) fn add_listener(&self, callback: ExceptionInfoCallback) {
        let listener = Listener::new(callback);
        let mut listeners = self.listeners();
        if listeners.added.iter().all(|other| other.function != listener.function) {
            listeners.added.push(listener);
        }
    }

    /// Removes a listener that was added.
    pub(crate) fn remove_listener(&self, callback: ExceptionInfoCallback) -> Result<()> {
        let function = address(callback);
        let mut listeners = self.listeners();
        let before = listeners.added.len();
        listeners.added.retain(|listener| listener.function != function);
        if listeners.added.len() == before {
            return refuse(AclError::INVALID_PARAM, "`callback` was not added, or was already removed");
        }
        Ok(())
    }

    /// Reads a field of a record, which is valid while the listeners run; the highest number for any other handle.
    pub(crate) fn field(&self, record: ExceptionInfo, field: impl FnOnce(&Failure) -> u32) -> u32 {
        self.records.get(record.addr()).map_or(u32::MAX, |failure| field(&failure))
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock()
    }
}
