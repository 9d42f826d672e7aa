//! The events of the program.
//!
//! Each record of an event creates a new recording. A wait refers to the recording, so it is not affected if the
//! event is recorded again.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use super::recording::Recording;
use super::shared_event::SharedEvent;
use crate::api::{AclError, IpcEventHandle};
use crate::error::{Result, refuse, unknown_handle};
use crate::state::State;
use crate::state::device_state::DeviceState;
use crate::state::handles::HandleKind;
use crate::stream::completion;
use crate::wait;

/// Most events of a device.
const MAX_EVENTS: usize = 65536;

/// The flags of an event.
mod flag {
    /// Streams can wait for the event.
    pub(crate) const SYNC: u32 = 1;
    /// The event shows the progress of a stream.
    pub(crate) const CAPTURE_STREAM_PROGRESS: u32 = 2;
    /// The event has a timestamp.
    pub(crate) const TIME_LINE: u32 = 8;
    /// Only the device waits for the event.
    pub(crate) const DEVICE_USE_ONLY: u32 = 0x10;
    /// Captured work waits for an event from outside the capture.
    pub(crate) const EXTERNAL: u32 = 0x20;
    /// Other processes wait for the event.
    pub(crate) const IPC: u32 = 0x40;
    pub(crate) const ALL: u32 = SYNC | CAPTURE_STREAM_PROGRESS | TIME_LINE | DEVICE_USE_ONLY | EXTERNAL | IPC;
}

/// The function that created an event, which determines the functions that accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// Without flags; it has a timestamp.
    Plain,
    /// With flags.
    Flagged,
    /// With flags, for repeated records.
    Repeated,
}

#[derive(Default)]
struct Progress {
    last: Option<Arc<Recording>>,
    /// The points in streams after their waits for the event.
    waits: Vec<Arc<Recording>>,
}

/// An event of the program.
pub(crate) struct Event {
    handle: usize,
    kind: EventKind,
    flags: u32,
    /// The device that the event was created on.
    device: Arc<DeviceState>,
    progress: Mutex<Progress>,
    /// The records of all processes, if the event has the flag `IPC`.
    shared: Option<SharedEvent>,
}

impl Event {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    fn last_recording(&self) -> Option<Arc<Recording>> {
        self.progress().last.clone()
    }

    fn first_wait(&self) -> Option<Arc<Recording>> {
        self.progress().waits.first().cloned()
    }

    fn forget_wait(&self, wait: &Arc<Recording>) {
        self.progress().waits.retain(|known| !Arc::ptr_eq(known, wait));
    }

    /// Removes completed waits from the front of the list. Devices are not called under the lock.
    fn forget_first_waits(&self) {
        while let Some(wait) = self.first_wait()
            && wait.is_done().unwrap_or(true)
        {
            self.forget_wait(&wait);
        }
    }

    fn is_timed(&self) -> bool {
        self.kind == EventKind::Plain || self.flags & flag::TIME_LINE != 0
    }

    /// Returns a small number, for messages and queries.
    pub(crate) fn id(&self) -> u32 {
        u32::try_from(tenon::handle::index(self.handle)).unwrap_or(u32::MAX)
    }

    /// Returns true if the last recording is complete, or there is none.
    pub(crate) fn is_done(&self) -> Result<bool> {
        if let Some(shared) = &self.shared {
            return Ok(shared.is_done());
        }
        self.last_recording().map_or(Ok(true), |record| record.is_done())
    }

    /// Returns the last recording and its time in nanoseconds, if the time is known.
    fn timed_recording(&self, param: &str) -> Result<(Arc<Recording>, u64)> {
        let Some(record) = self.last_recording() else {
            return refuse(AclError::RT_INTERNAL_ERROR, format!("`{param}` was never recorded"));
        };
        let refused =
            |why: &str| refuse(AclError::RT_EVENT_TIMESTAMP_INVALID, format!("`{param}` has no time: {why}"));
        if !record.is_timed {
            return refused("it was created without the flag `ACL_EVENT_TIME_LINE`");
        }
        if !record.is_done()? {
            return refused("its stream has not reached it yet; wait for the event or the stream first");
        }
        match record.time() {
            Some(time) => Ok((record, time)),
            None => refused("its record failed"),
        }
    }
}

/// All events of the program.
pub(crate) struct Events(HandleTable<Event>);

impl Default for Events {
    fn default() -> Self {
        Events(HandleTable::new(HandleKind::Event as u8))
    }
}

impl Events {
    /// Returns the event of a handle.
    pub(crate) fn get(&self, handle: usize) -> Result<Arc<Event>> {
        self.0.get(handle).ok_or_else(|| unknown_handle("event", handle))
    }

    /// Returns the event of a handle, unless the event is for repeated records.
    pub(crate) fn get_single(&self, handle: usize, operation: &str) -> Result<Arc<Event>> {
        let event = self.get(handle)?;
        if event.kind == EventKind::Repeated {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!(
                    "`event` was created by `aclrtCreateEventExWithFlag` and does not support {operation}"
                ),
            );
        }
        Ok(event)
    }

    /// Creates an event on the current device.
    pub(crate) fn create(&self, state: &State, kind: EventKind, flags: u32) -> Result<usize> {
        if kind != EventKind::Plain {
            check_flags(flags)?;
        }
        let shared = if flags & flag::IPC == 0 { None } else { Some(SharedEvent::new()?) };
        self.insert(state, kind, flags, shared)
    }

    /// Returns the handle by which another process opens an event.
    pub(crate) fn export(&self, event: usize) -> Result<IpcEventHandle> {
        match &self.get(event)?.shared {
            Some(shared) => shared.export(),
            None => {
                refuse(AclError::RT_PARAM_INVALID, "`event` was created without the flag `ACL_EVENT_IPC`")
            }
        }
    }

    /// Opens an event of another process, or a further handle of an event of this one.
    pub(crate) fn open(&self, state: &State, handle: &IpcEventHandle) -> Result<usize> {
        self.insert(state, EventKind::Repeated, flag::IPC, Some(SharedEvent::open(handle)?))
    }

    fn insert(
        &self,
        state: &State,
        kind: EventKind,
        flags: u32,
        shared: Option<SharedEvent>,
    ) -> Result<usize> {
        let context = state.context()?;
        let device = &context.lease.device;
        {
            let mut usage = device.usage();
            if usage.events >= MAX_EVENTS {
                return refuse(
                    AclError::RT_NO_EVENT_RESOURCE,
                    format!("device {} has {MAX_EVENTS} events, which is the maximum", device.ordinal),
                );
            }
            // Counted before the event is in the table, since a forced reset destroys the events that it finds there.
            usage.events += 1;
        }
        let event = self.0.insert_with(|handle| {
            let (device, progress) = (device.clone(), Mutex::default());
            Event { handle, kind, flags, device, progress, shared }
        });
        let Some((handle, _)) = event else {
            device.usage().events -= 1;
            return refuse(AclError::RT_NO_EVENT_RESOURCE, "16 million events exist already");
        };
        Ok(handle)
    }

    /// Destroys an event at once. Streams that wait for its last recording continue to wait.
    pub(crate) fn destroy(&self, handle: usize) -> Result<()> {
        let event = self.0.remove(handle).ok_or_else(|| unknown_handle("event", handle))?;
        event.device.usage().events -= 1;
        Ok(())
    }

    /// Destroys all events of a device.
    pub(crate) fn destroy_all_of(&self, device: &Arc<DeviceState>) {
        for event in self.0.all() {
            if Arc::ptr_eq(&event.device, device) {
                // Another thread may have destroyed it.
                let _ = self.destroy(event.handle);
            }
        }
    }

    /// Records an event after all work submitted to a stream so far.
    pub(crate) fn record(&self, state: &State, event: usize, stream: usize) -> Result<()> {
        let (event, stream) = (self.get(event)?, state.stream(stream)?);
        if event.device.ordinal != stream.session.ordinal {
            return refuse(AclError::RT_PARAM_INVALID, "`event` and `stream` are of different devices");
        }
        let recording = Recording::submit(&stream, event.is_timed())?;
        event.progress().last = Some(recording);
        event.shared.as_ref().map_or(Ok(()), |shared| shared.record(&stream))
    }

    /// Resets an event to "not recorded" when a stream reaches this point.
    pub(crate) fn reset(&self, state: &State, event: usize, stream: usize) -> Result<()> {
        let (event, stream) = (self.get(event)?, state.stream(stream)?);
        let Some(recording) = event.last_recording() else { return Ok(()) };
        stream.submit(move |stream| {
            completion::when_reached(stream, move || {
                let mut progress = event.progress();
                // A recording that was made in the meantime stays.
                if progress.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &recording)) {
                    progress.last = None;
                }
            })
        })
    }

    /// Makes later work of a stream wait for an event, with a timeout in milliseconds or -1.
    pub(crate) fn wait_on_stream(
        &self,
        state: &State,
        stream: usize,
        event: usize,
        timeout: i32,
    ) -> Result<()> {
        wait::deadline(timeout)?;
        let (stream, event) = (state.stream(stream)?, self.get(event)?);
        let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
        match (&event.shared, event.last_recording(), timeout) {
            (Some(shared), ..) => shared.hold(&stream, timeout)?,
            (None, None, _) => return Ok(()),
            (None, Some(recording), Some(timeout)) => recording.hold_with_timeout(&stream, timeout)?,
            (None, Some(recording), None) => recording.hold(&stream)?,
        }
        if event.kind != EventKind::Repeated {
            let passed = Recording::submit(&stream, false)?;
            event.forget_first_waits();
            event.progress().waits.push(passed);
        }
        Ok(())
    }

    /// Returns true if all streams have passed their waits for an event.
    pub(crate) fn are_waits_done(&self, event: usize) -> Result<bool> {
        let event = self.get_single(event, "`aclrtQueryEventWaitStatus`")?;
        let waits = event.progress().waits.clone();
        for wait in waits {
            if !wait.is_done()? {
                return Ok(false);
            }
            event.forget_wait(&wait);
        }
        Ok(true)
    }

    /// Waits until the last recording of an event is complete.
    pub(crate) fn synchronize(&self, event: usize, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        let event = self.get(event)?;
        let is_done = match (&event.shared, event.last_recording()) {
            (Some(shared), _) => shared.wait(until)?,
            (None, recording) => recording.map_or(Ok(true), |recording| recording.wait(until))?,
        };
        if is_done {
            return Ok(());
        }
        refuse(
            AclError::RT_EVENT_SYNC_TIMEOUT,
            format!("event {} did not complete within {timeout} ms", event.id()),
        )
    }

    /// Returns the time between two events, in milliseconds.
    pub(crate) fn elapsed_time(&self, start: usize, end: usize) -> Result<f32> {
        let (start, end) = (self.get(start)?, self.get(end)?);
        let (start, start_time) = start.timed_recording("start_event")?;
        let (end, end_time) = end.timed_recording("end_event")?;
        // The device's clock is more accurate than the times of its notifications.
        let elapsed =
            start.elapsed_on_device(&end).unwrap_or_else(|| end_time.wrapping_sub(start_time).cast_signed());
        if elapsed < 0 {
            return refuse(
                AclError::RT_EVENT_TIMESTAMP_REVERSAL,
                format!("`end_event` came {} ns before `start_event`", elapsed.unsigned_abs()),
            );
        }
        // The interface returns a float, which represents hours with a precision of about a microsecond.
        Ok((elapsed as f64 / 1e6) as f32)
    }

    /// Returns when the last recording of an event completed, in microseconds of a monotonic clock.
    pub(crate) fn timestamp(&self, event: usize) -> Result<u64> {
        let (_, time) = self.get(event)?.timed_recording("event")?;
        Ok(time / 1000)
    }
}

/// Returns how many more events can be created on the current device.
pub(crate) fn available(state: &State) -> Result<u32> {
    let events = state.context()?.lease.device.usage().events;
    Ok(u32::try_from(MAX_EVENTS.saturating_sub(events)).unwrap_or(u32::MAX))
}

/// Rejects the flag for captured work in a record or a wait.
pub(crate) fn expect_not_captured(flag: u32) -> Result<()> {
    match flag {
        0 => Ok(()),
        1 => refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            "`flag` is 1, which is for captures, but the stream is not being captured",
        ),
        _ => refuse(AclError::INVALID_PARAM, format!("`flag` is {flag}; it must be 0 or 1")),
    }
}

/// Converts a timeout from seconds to milliseconds; -1 (endless) for 0 and for values out of range.
pub(crate) fn timeout_ms(seconds: u32) -> i32 {
    match seconds {
        0 => -1,
        seconds => i32::try_from(u64::from(seconds) * 1000).unwrap_or(-1),
    }
}

fn check_flags(flags: u32) -> Result<()> {
    if flags == 0 || flags & !flag::ALL != 0 || (flags & flag::EXTERNAL != 0 && flags != flag::EXTERNAL) {
        return refuse(
            AclError::INVALID_PARAM,
            format!("`flag` is {flags:#x}, which is not a valid set of flags"),
        );
    }
    if flags & flag::DEVICE_USE_ONLY != 0 {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`flag` is {flags:#x}: events for the device alone are not supported"),
        );
    }
    Ok(())
}
