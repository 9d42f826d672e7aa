//! Events and their records.
//!
//! A *record* is one point in one stream. Recording an event again gives it a new record; streams that
//! wait for the old record continue to do so, as in CUDA.

use super::stream::StreamState;
use crate::error::{Error, Result};
use crate::graph::CapturedMark;
use crate::sync::{AtomicU64, Mutex, Ordering};
use std::sync::Arc;
use tenon::device::DeviceId;

/// A point in a stream that is not known to be passed.
pub(crate) struct Record {
    stream: Arc<StreamState>,
    /// The record's place among the stream's work.
    place: u64,
    /// The time at which the stream passed it, in nanoseconds; zero until then.
    time_ns: AtomicU64,
    waiters: Mutex<Vec<Arc<StreamState>>>,
}

impl Record {
    pub(crate) fn new(stream: Arc<StreamState>, place: u64) -> Arc<Self> {
        Arc::new(Self { stream, place, time_ns: AtomicU64::new(0), waiters: Mutex::new(Vec::new()) })
    }

    pub(crate) fn time_ns(&self) -> Option<u64> {
        Some(self.time_ns.load(Ordering::Acquire)).filter(|&time| time != 0)
    }

    /// Returns true if the stream has passed the record, and counts it as done: whoever sees this finds the stream as far.
    pub(crate) fn is_done(&self) -> bool {
        self.time_ns().is_some() && self.stream.completed() >= self.place
    }

    /// Resumes the stream when the record completes. Returns false if it is complete already.
    pub(crate) fn subscribe(&self, stream: &Arc<StreamState>) -> bool {
        let mut waiters = self.waiters.lock();
        if self.is_done() {
            return false;
        }
        waiters.push(stream.clone());
        true
    }

    /// Notes the time at which the stream passes the record.
    pub(super) fn pass(&self, now_ns: u64) {
        self.time_ns.store(now_ns, Ordering::Release);
    }

    /// Resumes the streams that wait for the record, which is done.
    pub(super) fn resume_waiters(&self) {
        let waiting = std::mem::take(&mut *self.waiters.lock());
        for stream in waiting {
            stream.resume();
        }
    }

    /// Blocks until the record is complete.
    pub(crate) fn wait(&self) {
        self.stream.wait_for(self.place);
    }
}

/// The last record of an event.
#[derive(Clone)]
pub(crate) enum Mark {
    /// Never recorded; counts as complete.
    Never,
    /// Passed at this time.
    Done(u64),
    /// Not known to be passed.
    Pending(Arc<Record>),
    /// A point in a capture, not in time.
    Captured(CapturedMark),
}

/// An event.
pub(crate) struct EventState {
    pub(crate) handle: usize,
    pub(crate) device: DeviceId,
    mark: Mutex<Mark>,
}

impl EventState {
    pub(crate) fn new(handle: usize, device: DeviceId) -> Arc<Self> {
        Arc::new(Self { handle, device, mark: Mutex::new(Mark::Never) })
    }

    pub(crate) fn set(&self, mark: Mark) {
        // The old mark may hold the last reference to a stream; it goes after the lock.
        let old = std::mem::replace(&mut *self.mark.lock(), mark);
        drop(old);
    }

    /// Returns the latest mark, with a completed record seen as such.
    pub(crate) fn mark(&self) -> Mark {
        let mut mark = self.mark.lock();
        if let Mark::Pending(record) = &*mark
            && record.is_done()
            && let Some(time) = record.time_ns()
        {
            *mark = Mark::Done(time);
        }
        mark.clone()
    }

    /// Returns the time at which the last record completed.
    pub(crate) fn completed_at(&self) -> Result<u64> {
        let event = self.handle;
        match self.mark() {
            Mark::Done(time) => Ok(time),
            Mark::Never => Err(Error::EventNotRecorded { event }),
            Mark::Pending(_) => Err(Error::EventNotReady { event }),
            Mark::Captured(_) => Err(Error::CapturedEvent { event }),
        }
    }
}
