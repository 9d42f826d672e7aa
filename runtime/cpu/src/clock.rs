//! One monotonic clock for events and traces.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Monotonic time, counted from the Unix epoch as it was when the clock was made.
pub(crate) struct Clock {
    start: Instant,
    offset_ns: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        // A system clock set before 1970 must not stop the device; 1 keeps every time non-zero.
        let offset_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        Self { start: Instant::now(), offset_ns }
    }

    /// Returns the time in nanoseconds, which is never zero and never decreases.
    pub(crate) fn now_ns(&self) -> u64 {
        self.offset_ns + self.start.elapsed().as_nanos() as u64
    }
}
