//! Events: names for points in streams.
//!
//! Each record of an event is a thing of its own, with one of the device's events. So a wait keeps to the record that it
//! was made for, however often the event is recorded again and wherever the streams are held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::home::Home;
use crate::record::Record;
use crate::runtime::{Runtime, unknown};
use crate::{arrival, table, wait};

/// How many events there may be.
pub(crate) const MOST: usize = 65536;

/// Flags of an event.
pub(crate) mod flag {
    /// Others can wait for it.
    pub(crate) const SYNC: u32 = 1;
    /// It says how far a stream is.
    pub(crate) const CAPTURE_STREAM_PROGRESS: u32 = 2;
    /// It keeps time.
    pub(crate) const TIME_LINE: u32 = 8;
    /// Only the device waits for it.
    pub(crate) const DEVICE_USE_ONLY: u32 = 0x10;
    /// Captured work waits for it from outside.
    pub(crate) const EXTERNAL: u32 = 0x20;
    /// Other processes wait for it.
    pub(crate) const IPC: u32 = 0x40;
    /// All that there are.
    pub(crate) const ALL: u32 = SYNC | CAPTURE_STREAM_PROGRESS | TIME_LINE | DEVICE_USE_ONLY | EXTERNAL | IPC;
}

/// How an event was made, which decides what can be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Make {
    /// Without flags; it keeps time.
    Plain,
    /// With flags.
    Flagged,
    /// With flags, to be recorded again and again.
    Ex,
}

#[derive(Default)]
struct State {
    record: Option<Arc<Record>>,
    /// Where streams have passed their waits.
    waits: Vec<Arc<Record>>,
}

/// An event of the program's.
pub(crate) struct Event {
    pub(crate) handle: usize,
    pub(crate) make: Make,
    pub(crate) flags: u32,
    /// The device that it was made on.
    home: Arc<Home>,
    state: Mutex<State>,
}

impl Event {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> Option<Arc<Record>> {
        self.state().record.clone()
    }

    fn first_wait(&self) -> Option<Arc<Record>> {
        self.state().waits.first().cloned()
    }

    fn forget_wait(&self, wait: &Arc<Record>) {
        self.state().waits.retain(|known| !Arc::ptr_eq(known, wait));
    }

    /// Forgets waits that are over, up to the first that is not. Devices are asked while nothing is locked.
    fn forget_first_waits(&self) {
        while let Some(wait) = self.first_wait()
            && wait.is_done().unwrap_or(true)
        {
            self.forget_wait(&wait);
        }
    }

    fn is_timed(&self) -> bool {
        self.make == Make::Plain || self.flags & flag::TIME_LINE != 0
    }

    /// A small number, for people.
    pub(crate) fn id(&self) -> u32 {
        u32::try_from(table::index(self.handle)).unwrap_or(u32::MAX)
    }

    /// Whether its last record is done, or there is none.
    fn is_done(&self) -> Result<bool> {
        self.record().map_or(Ok(true), |record| record.is_done())
    }

    /// When its last record was done.
    fn time(&self, param: &str) -> Result<u64> {
        let Some(record) = self.record() else {
            return refuse(AclError::RT_INTERNAL_ERROR, format!("`{param}` was never recorded"));
        };
        let refused =
            |why: &str| refuse(AclError::RT_EVENT_TIMESTAMP_INVALID, format!("`{param}` has no time: {why}"));
        if !record.is_timed {
            return refused("it was made without the flag `ACL_EVENT_TIME_LINE`");
        }
        if !record.is_done()? {
            return refused("its stream has not passed it; wait for the event or for the stream first");
        }
        record.time().map_or_else(|| refused("its record failed"), Ok)
    }
}

impl Runtime {
    /// Makes an event on the current device.
    pub(crate) fn create_event(&self, make: Make, flags: u32) -> Result<usize> {
        let context = self.context()?;
        if make != Make::Plain {
            check_flags(flags)?;
        }
        let home = &context.lease.home;
        {
            let mut state = home.state();
            if state.events >= MOST {
                return refuse(
                    AclError::RT_NO_EVENT_RESOURCE,
                    format!("device {} has {MOST} events, and no more", home.ordinal),
                );
            }
            // Before anybody can find it: a reset by force destroys what it finds.
            state.events += 1;
        }
        let state = Mutex::default();
        let event =
            self.events.insert_with(|handle| Event { handle, make, flags, home: home.clone(), state });
        let Some(event) = event else {
            home.state().events -= 1;
            return refuse(AclError::RT_NO_EVENT_RESOURCE, "a million events are alive");
        };
        Ok(event.handle)
    }

    /// Destroys an event at once. Streams that wait for its last record still do.
    pub(crate) fn destroy_event(&self, handle: usize) -> Result<()> {
        let event = self.events.remove(handle).ok_or_else(|| unknown("event", handle))?;
        event.home.state().events -= 1;
        Ok(())
    }

    /// Destroys all events of a device.
    pub(crate) fn destroy_events_of(&self, home: &Arc<Home>) {
        for event in self.events.all() {
            if Arc::ptr_eq(&event.home, home) {
                // Another thread may be quicker.
                let _ = self.destroy_event(event.handle);
            }
        }
    }

    /// Puts an event at the end of what a stream was given.
    pub(crate) fn record_event(&self, event: usize, stream: usize) -> Result<()> {
        let (event, stream) = (self.event(event)?, self.stream(stream)?);
        if event.home.ordinal != stream.unit.ordinal {
            return refuse(AclError::RT_PARAM_INVALID, "`event` and `stream` are of different devices");
        }
        let record = Record::put(&stream, event.is_timed())?;
        event.state().record = Some(record);
        Ok(())
    }

    /// Makes an event one that was not recorded, once a stream comes to this place.
    pub(crate) fn reset_event(&self, event: usize, stream: usize) -> Result<()> {
        let (event, stream) = (self.event(event)?, self.stream(stream)?);
        if event.make == Make::Plain || event.flags & flag::SYNC == 0 {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                "`event` cannot be reset; only those made with the flag `ACL_EVENT_SYNC` can",
            );
        }
        let Some(record) = event.record() else { return Ok(()) };
        stream.submit(move |stream| {
            arrival::when_reached(stream, move || {
                let mut state = event.state();
                // A record that was made meanwhile stays.
                if state.record.as_ref().is_some_and(|last| Arc::ptr_eq(last, &record)) {
                    state.record = None;
                }
            })
        })
    }

    /// Makes what a stream is given from now on wait for an event; with a time, so many milliseconds at most.
    pub(crate) fn stream_wait_event(&self, stream: usize, event: usize, timeout: i32) -> Result<()> {
        wait::deadline(timeout)?;
        let (stream, event) = (self.stream(stream)?, self.event(event)?);
        let Some(record) = event.record() else { return Ok(()) };
        match u64::try_from(timeout) {
            Ok(patience) => record.hold_for(&stream, Duration::from_millis(patience))?,
            Err(_) => record.hold(&stream)?,
        }
        if event.make != Make::Ex {
            let passed = Record::put(&stream, false)?;
            event.forget_first_waits();
            event.state().waits.push(passed);
        }
        Ok(())
    }

    /// Whether the last record of an event is done.
    pub(crate) fn is_event_done(&self, event: usize) -> Result<bool> {
        self.event(event)?.is_done()
    }

    /// The same, for those that events to be recorded again do not answer.
    pub(crate) fn is_single_event_done(&self, event: usize) -> Result<bool> {
        self.single_event(event, "its completion with `aclrtQueryEventStatus`")?.is_done()
    }

    /// Whether all streams have passed their waits for an event.
    pub(crate) fn is_event_waited(&self, event: usize) -> Result<bool> {
        let event = self.single_event(event, "nothing about those that wait for it")?;
        let waits = event.state().waits.clone();
        for wait in waits {
            if !wait.is_done()? {
                return Ok(false);
            }
            event.forget_wait(&wait);
        }
        Ok(true)
    }

    fn single_event(&self, event: usize, tells: &str) -> Result<Arc<Event>> {
        let event = self.event(event)?;
        if event.make == Make::Ex {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`event` was made by `aclrtCreateEventExWithFlag` and tells {tells}"),
            );
        }
        Ok(event)
    }

    /// Waits for the last record of an event.
    pub(crate) fn synchronize_event(&self, event: usize, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        let event = self.event(event)?;
        let Some(record) = event.record() else { return Ok(()) };
        if record.wait(until)? {
            return Ok(());
        }
        refuse(
            AclError::RT_EVENT_SYNC_TIMEOUT,
            format!("event {} was not done within {timeout} ms", event.id()),
        )
    }

    /// The time between two events, in milliseconds.
    pub(crate) fn elapsed_time(&self, start: usize, end: usize) -> Result<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        let (start, end) = (start.time("start_event")?, end.time("end_event")?);
        let Some(elapsed) = end.checked_sub(start) else {
            return refuse(
                AclError::RT_EVENT_TIMESTAMP_REVERSAL,
                format!("`end_event` came {} ns before `start_event`", start - end),
            );
        };
        // A float holds times of hours to the microsecond or so, which is what the interface has room for.
        Ok((elapsed as f64 / 1e6) as f32)
    }

    /// When the last record of an event was done, in microseconds of a clock that only goes forward.
    pub(crate) fn event_timestamp(&self, event: usize) -> Result<u64> {
        Ok(self.event(event)?.time("event")? / 1000)
    }

    /// How many events can still be made on the current device.
    pub(crate) fn events_available(&self) -> Result<u32> {
        let events = self.context()?.lease.home.state().events;
        Ok(u32::try_from(MOST.saturating_sub(events)).unwrap_or(u32::MAX))
    }
}

/// Whether a record or a wait is for streams and not for what is outside of captured work.
pub(crate) fn expect_inside(flag: u32) -> Result<()> {
    match flag {
        0 => Ok(()),
        1 => refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            "`flag` is 1, which is for streams that are being captured, and none is",
        ),
        _ => refuse(AclError::INVALID_PARAM, format!("`flag` is {flag}; it is 0 or 1")),
    }
}

/// So many seconds in milliseconds; -1, without end, for 0 and for more than there is a number for.
pub(crate) fn patience(seconds: u32) -> i32 {
    match seconds {
        0 => -1,
        seconds => i32::try_from(u64::from(seconds) * 1000).unwrap_or(-1),
    }
}

fn check_flags(flags: u32) -> Result<()> {
    if flags == 0 || flags & !flag::ALL != 0 || (flags & flag::EXTERNAL != 0 && flags != flag::EXTERNAL) {
        return refuse(AclError::INVALID_PARAM, format!("`flag` is {flags:#x}, which is no set of flags"));
    }
    if flags & (flag::IPC | flag::DEVICE_USE_ONLY) != 0 {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`flag` is {flags:#x}: no event here is for other processes, or for the device alone"),
        );
    }
    Ok(())
}
