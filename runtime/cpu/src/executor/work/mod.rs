//! The kinds of work of a stream.

pub(crate) mod join;
pub(crate) mod record;
pub(crate) mod task;

use super::Shared;
use super::progress::Progress;
use crate::memory::{AllocationGuard, CopyKind, RawCopy, RawFill};
use crate::profiler::Activity;
use join::Join;
use record::Record;
use std::sync::Arc;
use task::{Task, report};

/// Copies and fills up to this many bytes run on the calling thread when their stream is idle.
///
/// Copying this many takes less than a microsecond (`cargo bench --bench streams`), which is less than
/// handing the work to a thread and waiting for it.
pub const INLINE_BYTES: usize = 32 << 10;

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
    /// Wait for a record.
    Wait(Arc<Record>),
    /// Keeps freed memory until the stream has passed this point.
    Release(AllocationGuard),
    /// Park the stream and start what resumes it: the branches of a graph, or a collective.
    Fork(Box<dyn FnOnce(Arc<dyn Progress>) + Send>),
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

    /// Does the work. The stream itself handles `Record`, `Wait`, `Callback` and `Fork`, which are never passed here.
    pub(crate) fn execute(self, shared: &Shared, stream: &dyn Progress) {
        match self {
            Self::Copy { kind, raw, guards } => {
                shared.traced(stream, Activity::Copy(kind), kind.name(), || raw.run(&shared.ready));
                drop(guards);
            }
            Self::Fill { raw, guard } => {
                shared.traced(stream, Activity::Fill, "fill", || raw.run(&shared.ready));
                drop(guard);
            }
            Self::Kernel { name, task } => {
                let result = shared.traced(stream, Activity::Kernel, name, || task.call());
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
