//! Records of events.

use crate::error::Error;
use crate::executor::progress::Progress;
use crate::sync::{AtomicU64, Mutex, Ordering};
use std::sync::{Arc, OnceLock};

/// A point in a stream, recorded by an event.
pub(crate) struct Record {
    stream: Arc<dyn Progress>,
    /// The record's place among the stream's work.
    place: u64,
    /// The time at which the stream passed it, in nanoseconds; zero until then.
    time_ns: AtomicU64,
    /// The failure that the stream had when it passed the record.
    failure: OnceLock<Error>,
    waiters: Mutex<Vec<Arc<dyn Progress>>>,
}

impl Record {
    pub(crate) fn new(stream: Arc<dyn Progress>, place: u64) -> Arc<Self> {
        Arc::new(Self {
            stream,
            place,
            time_ns: AtomicU64::new(0),
            failure: OnceLock::new(),
            waiters: Mutex::new(Vec::new()),
        })
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

    /// Returns the failure that the stream had when it passed the record.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// Gives the failure to a stream that waited for the record: what it computes from the results would be wrong.
    pub(in crate::executor) fn hand_on_failure(&self, to: &dyn Progress) {
        if let Some(failure) = self.failure() {
            to.fail(failure.clone());
        }
    }

    /// Stores the time at which the stream passes the record, and its failure.
    pub(in crate::executor) fn pass(&self, now_ns: u64, failure: Option<Error>) {
        if let Some(failure) = failure {
            // A stream passes a record once.
            let _ = self.failure.set(failure);
        }
        self.time_ns.store(now_ns, Ordering::Release);
    }

    /// Resumes the streams that wait for the record, which must be complete.
    pub(in crate::executor) fn resume_waiters(&self) {
        let waiting = std::mem::take(&mut *self.waiters.lock());
        for stream in waiting {
            self.hand_on_failure(&*stream);
            stream.resume();
        }
    }

    /// Blocks until the record is complete.
    pub(crate) fn wait(&self) {
        self.stream.clone().wait_for(self.place);
    }
}
