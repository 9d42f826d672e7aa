//! Events and their records.
//!
//! A *record* is one point in one stream. Recording an event again gives it a new record; streams that
//! wait for the old record continue to do so, as in CUDA.

use super::work::record::Record;
use crate::error::{Error, Result};
use crate::graph::CapturedMark;
use crate::sync::Mutex;
use std::sync::Arc;
use tenon::device::DeviceId;

/// The last record of an event.
#[derive(Clone)]
pub(crate) enum Mark {
    /// Never recorded; counts as complete.
    Never,
    /// The stream passed it at this time, with this failure.
    Done { at: u64, failure: Option<Error> },
    /// Not known to be complete.
    Pending(Arc<Record>),
    /// A point in a capture, which has no time.
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
        // The old mark may hold the last reference to a stream, so it is dropped after the lock is released.
        let old = std::mem::replace(&mut *self.mark.lock(), mark);
        drop(old);
    }

    /// Returns the latest mark, which is `Done` if its record is complete.
    pub(crate) fn mark(&self) -> Mark {
        let mut mark = self.mark.lock();
        if let Mark::Pending(record) = &*mark
            && record.is_done()
            && let Some(time) = record.time_ns()
        {
            *mark = Mark::Done { at: time, failure: record.failure().cloned() };
        }
        mark.clone()
    }

    /// Returns the time at which the last record completed.
    pub(crate) fn completed_at(&self) -> Result<u64> {
        let event = self.handle;
        match self.mark() {
            Mark::Done { at, .. } => Ok(at),
            Mark::Never => Err(Error::EventNotRecorded { event }),
            Mark::Pending(_) => Err(Error::EventNotReady { event }),
            Mark::Captured(_) => Err(Error::CapturedEvent { event }),
        }
    }
}
