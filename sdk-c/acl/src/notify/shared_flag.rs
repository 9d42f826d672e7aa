//! A flag that streams of several processes set and wait for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::signal::{Change, Wait};
use crate::api::AclError;
use crate::error::{Error, Result, refuse};
use crate::shared::name::Name;
use crate::shared::numbers::{SharedNumbers, Waited};
use crate::state::stream::Stream;
use crate::stream::completion;

/// The place of the flag.
const FLAG: usize = 0;

/// A flag of several processes.
#[derive(Clone, Debug)]
pub(crate) struct SharedFlag(Arc<SharedNumbers>);

impl SharedFlag {
    pub(crate) fn new(value: u32) -> Result<Self> {
        let numbers = SharedNumbers::new()?;
        numbers.number(FLAG).store(value, Ordering::Release);
        Ok(SharedFlag(Arc::new(numbers)))
    }

    /// Opens a flag of another process.
    pub(crate) fn open(name: Name) -> Result<Self> {
        SharedNumbers::open(name).map(|numbers| SharedFlag(Arc::new(numbers)))
    }

    /// Lets other processes open the flag: all, or only those that are listed.
    pub(crate) fn export(&self, is_open: bool) -> Result<Name> {
        self.0.export(is_open)
    }

    /// Lets the listed processes open the flag.
    pub(crate) fn allow(&self, processes: &[i32]) -> Result<()> {
        self.0.allow(processes)
    }

    /// Changes the flag now.
    pub(crate) fn change(&self, change: Change) {
        let changed = |value| Some(change.apply(value));
        let _ = self.0.number(FLAG).fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
        self.0.notify();
    }

    /// Changes the flag in stream order.
    pub(crate) fn change_on(&self, stream: &Arc<Stream>, change: Change) -> Result<()> {
        let flag = self.clone();
        stream.submit(move |stream| completion::when_reached(stream, move || flag.change(change)))
    }

    /// Returns true if a wait is over. Clears the flag if the wait does so.
    fn take(&self, wait: Wait) -> bool {
        let taken = |value| wait.condition.holds(value).then_some(if wait.clears { 0 } else { value });
        let is_over = self.0.number(FLAG).fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok();
        if is_over && wait.clears {
            self.0.notify();
        }
        is_over
    }

    /// Holds later work of a stream until the condition is true.
    pub(crate) fn wait_on(&self, stream: &Arc<Stream>, wait: Wait) -> Result<()> {
        let flag = self.clone();
        completion::run_in_order(stream, move |work| {
            let until = wait.timeout.map(|timeout| Instant::now() + timeout);
            match flag.0.wait(until, || !work.is_wanted() || flag.take(wait)) {
                Waited::Done => Ok(()),
                Waited::Late => refuse(
                    AclError::RT_WAIT_TIMEOUT,
                    format!("a wait for a notify took longer than {:?}", wait.timeout.unwrap_or_default()),
                ),
                Waited::Orphaned => {
                    let message = "a wait for a notify cannot end: its process has destroyed it or has ended";
                    Err(Error::new(AclError::RT_INVALID_HANDLE, message))
                }
            }
        })
    }
}
