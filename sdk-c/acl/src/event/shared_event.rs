//! The part of an event that several processes share.

use std::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::api::{AclError, IpcEventHandle};
use crate::error::{Error, Result, refuse};
use crate::shared::name::Name;
use crate::shared::numbers::{SharedNumbers, Waited};
use crate::state::stream::Stream;
use crate::stream::completion;

/// The place of the number of records that were submitted.
const RECORDED: usize = 0;
/// The place of the number of the last record that is complete.
const COMPLETED: usize = 1;

/// The start of the text in a handle.
const PREFIX: &str = "tenon-event-";

/// The records of an event of several processes.
#[derive(Clone, Debug)]
pub(crate) struct SharedEvent(Arc<SharedNumbers>);

/// Completes a record when it is dropped, also if that happens with the pending work of a stream.
struct Completes {
    event: SharedEvent,
    record: u32,
}

impl Drop for Completes {
    fn drop(&mut self) {
        let numbers = &self.event.0;
        let later = |known: u32| is_before(known, self.record).then_some(self.record);
        // It fails if a later record is complete already.
        let _ = numbers.number(COMPLETED).fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        numbers.notify();
    }
}

/// Compares numbers of records, which start again at 0 after the largest one.
fn is_before(record: u32, other: u32) -> bool {
    record.wrapping_sub(other).cast_signed() < 0
}

impl SharedEvent {
    pub(crate) fn new() -> Result<Self> {
        SharedNumbers::new().map(|numbers| SharedEvent(Arc::new(numbers)))
    }

    /// Returns the handle by which another process opens the event.
    pub(crate) fn export(&self) -> Result<IpcEventHandle> {
        let text = format!("{PREFIX}{}", self.0.export(true)?);
        let mut reserved = [0; 64];
        for (place, byte) in reserved.iter_mut().zip(text.bytes()) {
            *place = byte as c_char;
        }
        Ok(IpcEventHandle { reserved })
    }

    /// Opens an event of another process.
    pub(crate) fn open(handle: &IpcEventHandle) -> Result<Self> {
        let bytes: Vec<u8> =
            handle.reserved.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(PREFIX));
        match text.and_then(Name::parse) {
            Some(name) => Ok(SharedEvent(Arc::new(SharedNumbers::open(name)?))),
            None => refuse(AclError::RT_PARAM_INVALID, "`handle` is not one of `aclrtIpcGetEventHandle`"),
        }
    }

    fn recorded(&self) -> u32 {
        self.0.number(RECORDED).load(Ordering::Acquire)
    }

    fn is_complete(&self, record: u32) -> bool {
        !is_before(self.0.number(COMPLETED).load(Ordering::Acquire), record)
    }

    /// Returns true if the last record is complete, or there is none.
    pub(crate) fn is_done(&self) -> bool {
        self.is_complete(self.recorded())
    }

    /// Records the event after all work submitted to a stream so far.
    pub(crate) fn record(&self, stream: &Arc<Stream>) -> Result<()> {
        let record = self.0.number(RECORDED).fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        let completes = Completes { event: self.clone(), record };
        stream.submit(move |stream| completion::when_reached(stream, move || drop(completes)))
    }

    /// Waits for the last record. Returns false if the deadline passes first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<bool> {
        let record = self.recorded();
        match self.0.wait(until, || self.is_complete(record)) {
            Waited::Done => Ok(true),
            Waited::Late => Ok(false),
            Waited::Orphaned => Err(orphaned()),
        }
    }

    /// Makes later work of a stream wait for the last record. The stream fails if that takes longer than `timeout`.
    pub(crate) fn hold(&self, stream: &Arc<Stream>, timeout: Option<Duration>) -> Result<()> {
        let (event, record) = (self.clone(), self.recorded());
        if self.is_complete(record) {
            return Ok(());
        }
        completion::run_in_order(stream, move |work| {
            let until = timeout.map(|timeout| Instant::now() + timeout);
            match event.0.wait(until, || !work.is_wanted() || event.is_complete(record)) {
                Waited::Done => Ok(()),
                Waited::Late => refuse(
                    AclError::RT_WAIT_TIMEOUT,
                    format!("an event did not complete within {:?}", timeout.unwrap_or_default()),
                ),
                Waited::Orphaned => Err(orphaned()),
            }
        })
    }
}

#[cold]
fn orphaned() -> Error {
    let message = "the process of the event has destroyed it or has ended, before the event was complete";
    Error::new(AclError::RT_INVALID_HANDLE, message)
}
