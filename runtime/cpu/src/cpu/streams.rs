//! Kernels, callbacks, and the times of events.

use super::Cpu;
use crate::error::{Error, Result};
use crate::executor::stream::{Refused, StreamState};
use crate::executor::work::Work;
use crate::executor::work::task::{Task, TaskResult};
use crate::graph::Op;
use std::sync::Arc;
use tenon::device::{DeviceId, Event, Stream};
use tenon::support::has_room;

/// # Kernels and callbacks
///
/// A stream costs no thread; tens of thousands may exist. It does its work in the order in which it was queued.
/// Streams, the default stream among them, wait for each other only through events.
impl Cpu {
    /// Queues a host callback. It runs after all that the stream has queued, and what is queued
    /// later runs after it.
    ///
    /// All callbacks share one dedicated thread, so a slow callback delays other callbacks but no other work.
    /// It must not call what waits: such calls answer [`Error::BlockingInCallback`]. A panic or an `Err` is
    /// reported by the stream's next synchronisation. The closure is dropped once it was called; in a capture
    /// it is kept, and called once for each launch.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn launch_callback(
        &self,
        device: DeviceId,
        stream: Stream,
        callback: impl FnMut() -> TaskResult + Send + 'static,
    ) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        submit(&stream, Work::Callback { task: Task::Owned(Box::new(callback)) }, |work| {
            let Work::Callback { task } = work else { return None };
            Some(Op::Callback(task.into_shared()))
        })
    }

    /// Queues a kernel: any function, run on a pool thread in the order of the stream.
    ///
    /// `name` appears in traces and graphs. The kernel must not wait for other work of the
    /// device, and the memory that it uses must not be freed before it is queued; freeing it
    /// afterwards is fine. Panics, errors and captures are as for
    /// [`Cpu::launch_callback`].
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn launch_kernel(
        &self,
        device: DeviceId,
        stream: Stream,
        name: &'static str,
        kernel: impl FnMut() -> TaskResult + Send + 'static,
    ) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let work = Work::Kernel { name, task: Task::Owned(Box::new(kernel)) };
        submit(&stream, work, |work| {
            let Work::Kernel { name, task } = work else { return None };
            Some(Op::Kernel { name, task: task.into_shared() })
        })
    }
}

/// # Idle streams
impl Cpu {
    /// Returns true if a synchronisation of the stream would return at once and without an error.
    ///
    /// This is cheaper than the synchronisation, and takes no failure from the stream.
    pub fn is_idle(&self, device: DeviceId, stream: Stream) -> bool {
        let stream = self.core().and_then(|core| core.stream(device, stream));
        stream.is_ok_and(|stream| stream.is_idle())
    }
}

/// # Times of events
///
/// An event that was never recorded counts as complete.
impl Cpu {
    /// Returns the time at which the event's last record completed, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::EventNotReady`], [`Error::CapturedEvent`],
    /// [`Error::InvalidHandle`].
    pub fn event_time_ns(&self, event: Event) -> Result<u64> {
        self.core()?.any_event(event)?.completed_at()
    }
}

/// Queues work, or makes a node of it where the stream is captured.
pub(super) fn submit(
    stream: &Arc<StreamState>,
    work: Work,
    as_node: impl FnOnce(Work) -> Option<Op>,
) -> Result<()> {
    if !has_room() {
        return Err(Error::OutOfHostMemory);
    }
    match stream.submit(work) {
        Ok(()) => Ok(()),
        Err(Refused::OutOfMemory) => Err(Error::OutOfHostMemory),
        Err(Refused::Captured { capture, work }) => match as_node(work) {
            Some(op) => capture.add(stream, op),
            None => Ok(()),
        },
    }
}

pub(super) fn refuse_captured(stream: &StreamState, call: &'static str) -> Result<()> {
    stream.capture().map_or(Ok(()), |capture| Err(capture.refuse(call)))
}
