//! The kinds of work of a stream.

use super::Shared;
use super::event::Record;
use super::join::Join;
use super::stream::StreamState;
use crate::error::Error;
use crate::memory::{AllocationGuard, CopyKind, RawCopy, RawFill};
use crate::profiler::Activity;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Copies and fills up to this many bytes run on the calling thread when their stream is idle.
///
/// Copying as many takes less than a microsecond (`cargo bench --bench streams`), which is less than
/// handing the work to a thread and waiting for it.
pub const INLINE_BYTES: usize = 32 << 10;

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

/// A body that several launches may reach; they take turns.
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
            Self::Shared(task) => task.0.lock().unwrap_or_else(PoisonError::into_inner)(),
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
        // It may panic in turn when it is dropped.
        std::mem::forget(foreign);
        "no message".to_owned()
    });
    format!("it panicked: {text}")
}

/// One piece of a stream's work.
pub(crate) enum Work {
    /// Copies bytes.
    Copy { kind: CopyKind, raw: RawCopy, guards: [Option<AllocationGuard>; 2] },
    /// Fills device memory.
    Fill { raw: RawFill, guard: AllocationGuard },
    /// Run a function on a pool thread.
    Kernel { name: &'static str, task: Task },
    /// Run a function on the callback thread.
    Callback { task: Task },
    /// Complete an event's record.
    Record(Arc<Record>),
    /// Go on only when a record is complete.
    Wait(Arc<Record>),
    /// Keeps freed memory until the stream has come this far.
    Release(AllocationGuard),
    /// Park the stream and start the branches of a graph, which resume it.
    Fork(Box<dyn FnOnce(Arc<StreamState>) + Send>),
    /// The end of a branch.
    Join(Arc<Join>),
}

impl Work {
    /// Returns true if the work is short enough for the calling thread.
    pub(crate) fn runs_inline(&self) -> bool {
        match self {
            Self::Copy { raw, .. } => raw.len <= INLINE_BYTES,
            Self::Fill { raw, .. } => raw.len <= INLINE_BYTES,
            _ => false,
        }
    }

    /// Does the work. `Record`, `Wait`, `Callback` and `Fork` are for the stream itself and never come here.
    pub(crate) fn execute(self, shared: &Shared, stream: &StreamState) {
        match self {
            Self::Copy { kind, raw, guards } => {
                traced(shared, stream, Activity::Copy(kind), kind.name(), || raw.run(&shared.ready));
                drop(guards);
            }
            Self::Fill { raw, guard } => {
                traced(shared, stream, Activity::Fill, "fill", || raw.run(&shared.ready));
                drop(guard);
            }
            Self::Kernel { name, task } => {
                let result = traced(shared, stream, Activity::Kernel, name, || task.call());
                report(stream, "kernel", result);
            }
            Self::Join(join) => join.arrive(stream.take_failure()),
            Self::Release(guard) => drop(guard),
            Self::Record(_) | Self::Wait(_) | Self::Callback { .. } | Self::Fork(_) => {
                debug_assert!(false, "this work is for the stream itself");
            }
        }
    }
}

/// Runs a callback and keeps its failure for the stream.
pub(crate) fn call_back(shared: &Shared, stream: &StreamState, task: Task) {
    let result = traced(shared, stream, Activity::Callback, "callback", || task.call());
    report(stream, "callback", result);
}

fn report(stream: &StreamState, task: &'static str, result: TaskResult) {
    if let Err(message) = result {
        stream.fail(Error::TaskFailed { task, stream: stream.handle, message });
    }
}

fn traced<R>(
    shared: &Shared,
    stream: &StreamState,
    activity: Activity,
    name: &'static str,
    run: impl FnOnce() -> R,
) -> R {
    if !shared.profiler.is_on() {
        return run();
    }
    let start_ns = shared.clock.now_ns();
    let result = run();
    shared.profiler.add(crate::profiler::TraceRecord {
        activity,
        name,
        device: stream.device,
        stream: stream.handle,
        start_ns,
        end_ns: shared.clock.now_ns(),
    });
    result
}
