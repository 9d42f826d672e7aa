//! Waits for events that were not recorded yet.
//!
//! Such a wait is over at once. It is correct in a double buffer, whose first round waits for an event that
//! was never recorded, because no work uses the buffer yet. It is wrong where the wait should have come after
//! the record.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tenon::support::Mutex;

use crate::validate::CallCheck;
use crate::validate::call_site::CallSite;
use crate::validate::objects::stream_progress::WorkId;

/// The state of an event.
#[derive(Default)]
pub struct EventState {
    /// The last record; 0: none.
    pub record: AtomicU64,
    /// True if there is an early wait; readable without a lock.
    has_early: AtomicBool,
    early: Mutex<Option<EarlyWait>>,
}

/// The last wait for the event, from before its first record.
pub struct EarlyWait {
    pub by: CallSite,
    /// The work that the streams of the device had not done by then.
    pending: Vec<WorkId>,
    /// The stream that was to wait.
    waiting: Option<u32>,
}

impl EventState {
    pub fn has_early(&self) -> bool {
        self.has_early.load(Ordering::Relaxed)
    }

    pub fn set_early(&self, wait: EarlyWait) {
        *self.early.lock() = Some(wait);
        self.has_early.store(true, Ordering::Relaxed);
    }

    /// Removes the early wait, so that it is reported only once.
    pub fn take_early(&self) -> Option<EarlyWait> {
        if !self.has_early.swap(false, Ordering::Relaxed) {
            return None;
        }
        self.early.lock().take()
    }

    /// Returns the wait that came before a record that never came.
    pub fn waited_in_vain(&self) -> Option<EarlyWait> {
        if self.record.load(Ordering::Relaxed) == 0 { self.take_early() } else { None }
    }
}

impl EarlyWait {
    /// Records a wait that the call makes now.
    #[cold]
    pub fn new(check: &CallCheck<'_>, waiting: Option<u32>) -> Self {
        let streams = check.plugin.progress.of_device(check.device(check.checks.device));
        let pending = streams.iter().filter(|stream| !stream.is_done()).map(|stream| stream.until_now());
        let pending = pending.filter(|work| !check.is_done(*work)).collect();
        Self { by: check.call_site(), pending, waiting }
    }

    /// Returns true if the first record marks only work that was queued before the wait, so that the wait missed it.
    ///
    /// A stream that waits for its own event misses nothing.
    pub fn missed(&self, record: WorkId) -> bool {
        let is_next =
            |work: &WorkId| work.stream() == record.stream() && work.number() + 1 == record.number();
        self.waiting != Some(record.stream()) && self.pending.iter().any(is_next)
    }
}
