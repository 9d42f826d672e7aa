//! A bounded record of what ran on the streams, and of the host's calls of operators, while tracing was on.

use crate::memory::CopyKind;
use std::cell::Cell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use tenon::device::DeviceId;
use tenon::support::Mutex;

/// Records kept between two drains: about 6 MiB, several seconds of dense work.
const CAPACITY: usize = 1 << 17;

/// The kind of work that a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// A copy.
    Copy(CopyKind),
    /// A fill of device memory.
    Fill,
    /// A kernel.
    Kernel,
    /// A host callback.
    Callback,
    /// A call of an operator, on the host's thread.
    Call,
}

/// One piece of stream work, or one call of an operator, while tracing was on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRecord {
    /// The kind of work.
    pub activity: Activity,
    /// The kernel's name, or a fixed name for other work.
    pub name: &'static str,
    /// The library that computed a kernel or a part of it, if the kernel named one.
    pub library: Option<&'static str>,
    /// The device whose stream ran it, or was called to.
    pub device: DeviceId,
    /// The stream's handle, zero for a default stream.
    pub stream: usize,
    /// The time at which it began, in nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// The time at which it ended, in nanoseconds since the Unix epoch.
    pub end_ns: u64,
}

/// The result of a drain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The records, in the order in which they ended.
    pub records: Vec<TraceRecord>,
    /// Number of records that were dropped because the buffer was full.
    pub dropped: u64,
}

thread_local! {
    /// The library that has computed for the kernel that the thread runs.
    static LIBRARY: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Sets the library that computes for the kernel of the calling thread.
pub(crate) fn set_library(name: &'static str) {
    LIBRARY.set(Some(name));
}

/// Returns the library that has computed for the last kernel of the calling thread, and forgets it.
pub(crate) fn take_library() -> Option<&'static str> {
    LIBRARY.take()
}

#[derive(Default)]
pub(crate) struct Profiler {
    on: AtomicBool,
    trace: Mutex<Trace>,
}

impl Profiler {
    pub(crate) fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, record: TraceRecord) {
        let mut trace = self.lock();
        if trace.records.len() < CAPACITY {
            trace.records.push(record);
        } else {
            trace.dropped += 1;
        }
    }

    pub(crate) fn drain(&self) -> Trace {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_bounded_and_counts_what_it_drops() {
        let profiler = Profiler::default();
        let record = TraceRecord {
            activity: Activity::Fill,
            name: "fill",
            library: None,
            device: DeviceId(0),
            stream: 0,
            start_ns: 1,
            end_ns: 2,
        };
        for _ in 0..CAPACITY + 3 {
            profiler.add(record.clone());
        }
        let trace = profiler.drain();
        assert_eq!((trace.records.len(), trace.dropped), (CAPACITY, 3));
        assert_eq!(profiler.drain(), Trace::default());
    }
}
