//! Tracing.

use tenon::device::{DeviceId, Stream};

use super::Cpu;
use crate::error::{Error, Result};
use crate::profiler::{Activity, Trace, TraceRecord, set_library, take_library};

/// The variable that names the file for traces that a host collects.
const FILE: &str = "TENON_CPU_TRACE";

/// # Tracing
///
/// While tracing is on, every copy, fill, kernel and callback adds a record with its times. Callers add records of what
/// they do themselves.
/// The buffer holds 131072 records; further ones are counted but not kept, until the next
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

    /// Returns the records collected so far, and empties the buffer.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn profiler_drain(&self) -> Result<Trace> {
        Ok(self.core()?.shared.profiler.drain())
    }

    /// Returns the present time if tracing is on: the start of a record for [`Cpu::profiler_add`].
    #[must_use]
    pub fn profiler_time(&self) -> Option<u64> {
        let shared = &self.core().ok()?.shared;
        shared.profiler.is_on().then(|| {
            take_library();
            shared.clock.now_ns()
        })
    }

    /// Names the library that computes for the kernel of the calling thread, for its record.
    pub fn profiler_set_library(&self, name: &'static str) {
        if self.core().is_ok_and(|core| core.shared.profiler.is_on()) {
            set_library(name);
        }
    }

    /// Adds a record of something that the calling thread did from `start_ns` until now.
    pub fn profiler_add(
        &self,
        activity: Activity,
        name: &'static str,
        device: DeviceId,
        stream: Stream,
        start_ns: u64,
    ) {
        if let Ok(core) = self.core() {
            let (stream, end_ns) = (stream.addr(), core.shared.clock.now_ns());
            let library = take_library();
            core.shared.profiler.add(TraceRecord {
                activity,
                name,
                library,
                device,
                stream,
                start_ns,
                end_ns,
            });
        }
    }

    /// Writes the records gathered so far to the file that `TENON_CPU_TRACE` names, and empties the buffer. Does nothing if
    /// the variable is not set.
    pub(super) fn write_trace(&self) -> Result<()> {
        let Some(file) = tenon::trusted_variable(FILE).filter(|file| !file.is_empty()) else { return Ok(()) };
        let trace = self.profiler_drain()?.to_chrome();
        std::fs::write(&file, trace).map_err(|error| Error::Io {
            path: file.to_string_lossy().into_owned(),
            reason: error.to_string(),
        })
    }

    /// Returns the present time on the clock of events and traces, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`crate::Error::ShutDown`].
    pub fn now_ns(&self) -> Result<u64> {
        Ok(self.core()?.shared.clock.now_ns())
    }
}
