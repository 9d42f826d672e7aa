//! Streams and events on a bounded pool of threads.
//!
//! A stream is a queue and a phase, not a thread. The thread that moves it from idle to busy puts it once
//! into the [`queue::ReadyQueue`]; a pool thread takes it out and runs its work in order. A stream that meets
//! an incomplete event, or a callback, is *parked*: it leaves the pool and comes back into the ready queue
//! when the event's record completes or the callback returns. So no pool thread ever waits for another
//! stream, and since a wait only ever refers to a record made before it, the waits form no cycle.
//!
//! This module only orders work. `work` defines the kinds of work, and `memory` checks the access to memory.

pub(crate) mod callback;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod parallel;
pub(crate) mod pool;
pub(crate) mod progress;
pub(crate) mod queue;
pub(crate) mod stream;
mod turn;
pub(crate) mod work;

use crate::clock::Clock;
use crate::profiler::{Activity, Profiler, TraceRecord, take_library};
use crate::sync::{AtomicUsize, Ordering};
use callback::CallbackQueue;
use progress::Progress;
use queue::ReadyQueue;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The state that all streams of one [`crate::Cpu`] share.
pub(crate) struct Shared {
    pub(crate) ready: ReadyQueue,
    pub(crate) callbacks: CallbackQueue,
    pub(crate) profiler: Profiler,
    pub(crate) clock: Clock,
    /// The process that has the threads.
    process: AtomicU32,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            ready: ReadyQueue::new(),
            callbacks: CallbackQueue::new(),
            profiler: Profiler::default(),
            clock: Clock::new(),
            process: AtomicU32::new(std::process::id()),
        }
    }

    /// Opens the queues, which the caller's process serves from now on.
    fn open(&self) {
        self.process.store(std::process::id(), Relaxed);
        self.ready.open();
        self.callbacks.open();
    }

    /// Returns true in a forked child: the threads are the parent's.
    fn is_forked(&self) -> bool {
        self.process.load(Relaxed) != std::process::id()
    }

    /// In a forked child, runs the queued work on the calling thread. Work that one of the parent's threads
    /// was running during the fork never ends here.
    fn settle_after_fork(&self) {
        if self.is_forked() {
            self.ready.close();
            self.callbacks.close();
            self.settle();
        }
    }

    /// Runs the queued work on the calling thread, because the other threads have ended: a call that
    /// raced with a shutdown must still complete.
    ///
    /// Work that queues more work leaves it to the loop here, so that a long chain of streams does
    /// not become a deep recursion.
    fn settle(&self) {
        let Some(_settling) = context::settle() else { return };
        while self.ready.run_one() || self.callbacks.run_one(self) {}
    }

    /// Runs a piece of a stream's work. While the profiler is on, also records it.
    fn traced<R>(
        &self,
        stream: &dyn Progress,
        activity: Activity,
        name: &'static str,
        run: impl FnOnce() -> R,
    ) -> R {
        if !self.profiler.is_on() {
            return run();
        }
        take_library();
        let start_ns = self.clock.now_ns();
        let result = run();
        let end_ns = self.clock.now_ns();
        let (device, stream) = (stream.device(), stream.handle());
        self.profiler.add(TraceRecord {
            activity,
            name,
            library: take_library(),
            device,
            stream,
            start_ns,
            end_ns,
        });
        result
    }
}

/// Number of streams of a device that have work: one load shows whether the device is idle.
pub(crate) struct Load(AtomicUsize);

impl Load {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}
