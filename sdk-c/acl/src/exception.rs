//! Failures of queued work: telling them to the program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{AclError, ExceptionInfo, ExceptionInfoCallback};
use crate::error::{Error, Result, refuse};
use crate::stream::Stream;
use crate::table::{Kind, Table};
use crate::{thread, workers};

/// A piece of work that can fail after the call that has queued it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    number: u32,
    thread: u32,
}

impl Task {
    /// The one that the calling thread is about to queue.
    pub(crate) fn next() -> Self {
        // SAFETY: it has no preconditions.
        let thread = unsafe { libc::gettid() };
        Task { number: thread::last_task().wrapping_add(1), thread: thread.cast_unsigned() }
    }

    /// The one that the calling thread has counted last.
    pub(crate) fn last() -> Self {
        Task { number: thread::last_task(), ..Self::next() }
    }
}

/// What is known of a failure.
#[derive(Debug)]
pub(crate) struct Failure {
    handle: usize,
    pub(crate) code: u32,
    pub(crate) task: u32,
    pub(crate) stream: u32,
    pub(crate) thread: u32,
    pub(crate) device: u32,
}

/// A function of the program that is told of failures; it is given the handle of a record.
#[derive(Clone)]
pub(crate) struct Listener {
    /// The address of the function, by which the program takes it back.
    function: usize,
    tell: Arc<dyn Fn(usize) + Send + Sync>,
}

impl Listener {
    /// A function that a program hands over.
    pub(crate) fn of(callback: ExceptionInfoCallback) -> Self {
        let tell = Arc::new(move |record| callback.call(ExceptionInfo::from_addr(record)));
        Listener { function: address(callback), tell }
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

/// Who is told, and what.
pub(crate) struct Exceptions {
    listeners: Mutex<Listeners>,
    /// Failures that are being told at this moment.
    failures: Table<Failure>,
}

impl Default for Exceptions {
    fn default() -> Self {
        Exceptions { listeners: Mutex::default(), failures: Table::new(Kind::Failure) }
    }
}

impl Exceptions {
    /// Keeps a failure until somebody waits for the stream, and tells it at once to whoever listens.
    ///
    /// Functions of the program run here, so it must not be called with a lock held or in a thread of the device.
    pub(crate) fn fail(&self, stream: &Arc<Stream>, task: Task, error: Error) {
        let code = error.status;
        stream.fail(error);
        self.tell(stream, task, code);
    }

    /// The same from anywhere: it is told in another thread.
    pub(crate) fn fail_soon(self: &Arc<Self>, stream: &Arc<Stream>, task: Task, error: Error) {
        let code = error.status;
        stream.fail(error);
        if self.is_heard() {
            let (exceptions, stream) = (self.clone(), stream.clone());
            workers::run(move || exceptions.tell(&stream, task, code));
        }
    }

    fn is_heard(&self) -> bool {
        let known = self.lock();
        known.set.is_some() || !known.added.is_empty()
    }

    fn tell(&self, stream: &Arc<Stream>, task: Task, code: AclError) {
        let code = code.0.cast_unsigned();
        let (stream, device) = (stream.id, stream.unit.ordinal);
        let Task { number: task, thread } = task;
        let record =
            self.failures.insert_with(|handle| Failure { handle, code, task, stream, thread, device });
        // A million failures that are being told are enough.
        let Some(record) = record else { return };
        let listeners: Vec<Listener> = {
            let known = self.lock();
            known.set.iter().chain(&known.added).cloned().collect()
        };
        for listener in listeners {
            // A panic is told by the hook; the other listeners must not pay for it.
            let _ = catch_unwind(AssertUnwindSafe(|| (listener.tell)(record.handle)));
        }
        self.failures.remove(record.handle);
    }

    /// Sets the one function that takes the place of the one before.
    pub(crate) fn set(&self, listener: Option<Listener>) {
        self.lock().set = listener;
    }

    /// Adds a function.
    pub(crate) fn add(&self, listener: Listener) {
        let mut known = self.lock();
        if known.added.iter().all(|other| other.function != listener.function) {
            known.added.push(listener);
        }
    }

    /// Takes a function away again.
    pub(crate) fn remove(&self, callback: ExceptionInfoCallback) -> Result<()> {
        let function = address(callback);
        let mut known = self.lock();
        let before = known.added.len();
        known.added.retain(|listener| listener.function != function);
        if known.added.len() == before {
            return refuse(AclError::INVALID_PARAM, "`callback` was not added, or was taken away already");
        }
        Ok(())
    }

    /// A figure of a record, which is good while it is told; the largest number if there is no such record.
    pub(crate) fn figure(&self, record: ExceptionInfo, figure: impl FnOnce(&Failure) -> u32) -> u32 {
        self.failures.get(record.addr()).map_or(u32::MAX, |failure| figure(&failure))
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
