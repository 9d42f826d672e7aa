//! Kernels and callbacks.

use crate::error::Error;
use crate::executor::progress::Progress;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tenon::support::Mutex;

/// The result of a kernel or callback: nothing, or the reason of its failure.
///
/// A failure is kept by the stream and reported by its next synchronisation.
pub type TaskResult = std::result::Result<(), String>;

/// A kernel or callback, callable more than once so that a graph can repeat it.
pub(crate) type Body = Box<dyn FnMut() -> TaskResult + Send>;

/// A kernel or callback as it is queued.
pub(crate) enum Task {
    /// Called once, by this stream.
    Owned(Body),
    /// Part of a graph, called by each of its launches.
    Shared(SharedTask),
}

/// A body that several launches may call, one at a time.
#[derive(Clone)]
pub(crate) struct SharedTask(Arc<Mutex<Body>>);

impl SharedTask {
    pub(crate) fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(body)))
    }
}

impl Task {
    /// Calls the body. A panic is caught: it must not reach the pool or a C caller.
    pub(crate) fn call(self) -> TaskResult {
        catch_unwind(AssertUnwindSafe(move || match self {
            Self::Owned(mut body) => body(),
            Self::Shared(task) => task.0.lock()(),
        }))
        .unwrap_or_else(|payload| Err(panic_message(payload)))
    }

    pub(crate) fn into_shared(self) -> SharedTask {
        match self {
            Self::Owned(body) => SharedTask::new(body),
            Self::Shared(task) => task,
        }
    }
}

fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast::<String>()
        .map(|text| *text)
        .or_else(|payload| payload.downcast::<&str>().map(|text| (*text).to_owned()));
    let text = text.unwrap_or_else(|foreign| {
        // The payload of a panic may panic itself when it is dropped.
        std::mem::forget(foreign);
        "no message".to_owned()
    });
    format!("it panicked: {text}")
}

/// Keeps the failure of a kernel or callback for its stream.
pub(in crate::executor) fn report(stream: &dyn Progress, task: &'static str, result: TaskResult) {
    if let Err(message) = result {
        stream.fail(Error::TaskFailed { task, stream: stream.handle(), message });
    }
}
