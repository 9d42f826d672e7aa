//! Records of events.

use crate::executor::progress::Progress;
use crate::sync::{AtomicU64, Mutex, Ordering};
use std::sync::Arc;

/// A point in a stream, recorded by an event.
pub(crate) struct Record {
    stream: Arc<dyn Progress>,
    /// The record's place among the stream's work.
    place: u64,
    /// The time at which the stream passed it, in nanoseconds; zero until then.
    time_ns: AtomicU64,
    waiters: Mutex<Vec<Arc<dyn Progress>>>,
}

impl Record {
    pub(crate) fn new(stream: Arc<dyn Progress>, place: u64) -> Arc<Self> {
        Arc::new(Self { stream, place, time_ns: AtomicU64::new(0), waiters: Mutex::new(Vec::new()) })
    }

    pub(crate) fn time_ns(&self) -> Option<u64> {
        Some(self.time_ns.load(Ordering::Acquire)).filter(|&time| time != 0)
    }

    /// Returns true if the stream has passed the record and counts it as done, so that its count includes the record.
    pub(crate) fn is_done(&self) -> bool {
        self.time_ns().is_some() && self.stream.completed() >= self.place
    }

    /// Resumes the stream when the record completes. Returns false if it is complete already.
    pub(crate) fn subscribe(&self, stream: Arc<dyn Progress>) -> bool {
        let mut waiters = self.waiters.lock();
        if self.is_done() {
            return false;
        }
        waiters.push(stream);
        true
    }

    /// Stores the time at which the stream passes the record.
    pub(in crate::executor) fn pass(&self, now_ns: u64) {
        self.time_ns.store(now_ns, Ordering::Release);
    }

    /// Resumes the streams that wait for the record, which must be complete.
    pub(in crate::executor) fn resume_waiters(&self) {
        let waiting = std::mem::take(&mut *self.waiters.lock());
        for stream in waiting {
            stream.resume();
        }
    }

    /// Blocks until the record is complete.
    pub(crate) fn wait(&self) {
        self.stream.clone().wait_for(self.place);
    }
}
