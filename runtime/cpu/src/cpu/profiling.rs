//! Tracing.

use super::Cpu;
use crate::error::Result;
use crate::profiler::Trace;

/// # Tracing
///
/// While tracing is on, every copy, fill, kernel and callback leaves a record with its times.
/// The buffer holds 131072 records; what comes after is counted but not kept, until the next
/// drain.
impl Cpu {
    /// Turns tracing on. Earlier records are kept.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn profiler_start(&self) -> Result<()> {
        self.core()?.shared.profiler.set_on(true);
        Ok(())
    }

    /// Turns tracing off. Work that is running now is still recorded when it ends.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn profiler_stop(&self) -> Result<()> {
        self.core()?.shared.profiler.set_on(false);
        Ok(())
    }

    /// Hands out the records gathered so far and empties the buffer.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn profiler_drain(&self) -> Result<Trace> {
        Ok(self.core()?.shared.profiler.drain())
    }

    /// Returns the present time on the clock of events and traces, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn now_ns(&self) -> Result<u64> {
        Ok(self.core()?.shared.clock.now_ns())
    }
}
