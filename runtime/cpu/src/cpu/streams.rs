//! Streams, events, kernels and callbacks.

use super::core::check_device;
use super::{Cpu, refuse_inside_work};
use crate::error::{Error, Result};
use crate::executor::event::{EventState, Mark};
use crate::executor::stream::{Captured, StreamState};
use crate::executor::work::{Task, TaskResult, Work};
use crate::graph::{Capture, Op};
use crate::handle::HandleKind;
use std::sync::Arc;
use tenon::device::{Event, Stream};

/// # Streams
impl Cpu {
    /// Creates a stream. It costs no thread; tens of thousands may exist.
    ///
    /// A stream does its work in the order in which it was queued. Streams, the default stream
    /// among them, do not wait for each other but through events.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`].
    pub fn create_stream(&self, device: usize) -> Result<Stream> {
        let core = self.core()?;
        let load = &core.device(device)?.load;
        let make = |handle| StreamState::new(handle, device, &core.shared, load);
        Ok(Stream::from_addr(core.streams.insert_with(make)))
    }

    /// Destroys a stream and returns at once. Work already queued is still done.
    ///
    /// A capture that the stream is part of becomes invalid.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`], or [`Error::DefaultStream`].
    pub fn destroy_stream(&self, device: usize, stream: Stream) -> Result<()> {
        let core = self.core()?;
        let state = core.device(device)?;
        if stream == Stream::NULL {
            return Err(Error::DefaultStream { call: "destroy_stream" });
        }
        let gone = core.streams.remove_if(stream.addr(), |found| {
            check_device(HandleKind::Stream, stream.addr(), found.device, device)
        })?;
        if let Some(capture) = gone.capture() {
            capture.lose(&gone);
        }
        state.see_off(gone);
        Ok(())
    }

    /// Blocks until the stream has done all that was queued before the call.
    ///
    /// # Errors
    /// [`Error::TaskFailed`] if a kernel or callback of the stream failed since the last
    /// synchronisation; later work was done all the same. [`Error::BlockingInCallback`],
    /// [`Error::CaptureUnsupported`], [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn synchronize_stream(&self, device: usize, stream: Stream) -> Result<()> {
        let stream = self.core()?.stream(device, stream)?;
        refuse_captured(&stream, "synchronize_stream")?;
        refuse_inside_work("synchronize_stream")?;
        stream.synchronize();
        stream.take_failure().map_or(Ok(()), Err)
    }

    /// Whether the stream has done all that was queued. Never blocks.
    ///
    /// # Errors
    /// [`Error::CaptureUnsupported`], [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn query_stream(&self, device: usize, stream: Stream) -> Result<bool> {
        let stream = self.core()?.stream(device, stream)?;
        refuse_captured(&stream, "query_stream")?;
        Ok(stream.is_done())
    }

    /// Blocks until every stream of the device has done all that was queued before the call,
    /// destroyed streams among them.
    ///
    /// # Errors
    /// [`Error::TaskFailed`] as for [`Cpu::synchronize_stream`], from one of the streams; each
    /// call reports one failure. [`Error::BlockingInCallback`]. [`Error::CaptureUnsupported`]
    /// while a stream of the device is captured, unless the capture's mode allows it.
    pub fn synchronize_device(&self, device: usize) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        let streams = core.streams_of(device);
        let mode = super::graphs::thread_capture_mode();
        for capture in streams.iter().filter_map(|stream| stream.capture()) {
            if capture.forbids_waiting(mode) {
                return Err(capture.refuse("synchronize_device"));
            }
        }
        refuse_inside_work("synchronize_device")?;
        core.finish(device);
        streams.iter().find_map(|stream| stream.take_failure()).map_or(Ok(()), Err)
    }

    /// Ends the capture of a stream, if it is in one, since the call cannot be captured.
    #[cfg(not(loom))]
    pub(crate) fn refuse_in_capture(&self, device: usize, stream: Stream, call: &'static str) -> Result<()> {
        match self.core()?.stream(device, stream)?.capture() {
            Some(capture) => Err(capture.refuse(call)),
            None => Ok(()),
        }
    }

    /// Queues a host callback. It runs after all that the stream has queued, and what is queued
    /// later runs after it.
    ///
    /// All callbacks share one thread of their own, so a slow one delays other callbacks but no
    /// other work. It must not call what waits: such calls answer
    /// [`Error::BlockingInCallback`]. A panic or an `Err` is reported by the stream's next
    /// synchronisation. The closure is dropped once it was called; in a capture it is kept, and
    /// called once for each launch.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn stream_add_callback(
        &self,
        device: usize,
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
    /// [`Cpu::stream_add_callback`].
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn launch_kernel(
        &self,
        device: usize,
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

/// # Events
impl Cpu {
    /// Creates an event. Until it is recorded it counts as complete.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`].
    pub fn create_event(&self, device: usize) -> Result<Event> {
        let core = self.core()?;
        core.device(device)?;
        Ok(Event::from_addr(core.events.insert_with(|handle| EventState::new(handle, device))))
    }

    /// Destroys an event and returns at once. Streams that wait for its last record still do.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn destroy_event(&self, device: usize, event: Event) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        core.events.remove_if(event.addr(), |found| {
            check_device(HandleKind::Event, event.addr(), found.device, device)
        })?;
        Ok(())
    }

    /// Records the event at the end of what the stream has queued. Its earlier record is
    /// forgotten, except by those who wait for it already.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], or [`Error::WrongDevice`] if the stream or the event is of
    /// another device.
    pub fn record_event(&self, device: usize, stream: Stream, event: Event) -> Result<()> {
        let core = self.core()?;
        let event = core.event(device, event)?;
        let stream = core.stream(device, stream)?;
        match stream.record(&event) {
            Ok(()) => Ok(()),
            Err(Captured { capture, work: () }) => capture.record(&stream, &event),
        }
    }

    /// Whether the event's last record is complete, or there is none. Never blocks.
    ///
    /// # Errors
    /// [`Error::CapturedEvent`], [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub fn query_event(&self, device: usize, event: Event) -> Result<bool> {
        match self.core()?.event(device, event)?.mark() {
            Mark::Never | Mark::Done(_) => Ok(true),
            Mark::Pending(_) => Ok(false),
            Mark::Captured(_) => Err(Error::CapturedEvent { event: event.addr() }),
        }
    }

    /// Blocks until the event's last record, as of this call, is complete.
    ///
    /// # Errors
    /// [`Error::BlockingInCallback`], [`Error::CapturedEvent`], [`Error::InvalidHandle`],
    /// [`Error::WrongDevice`].
    pub fn synchronize_event(&self, device: usize, event: Event) -> Result<()> {
        let mark = self.core()?.event(device, event)?.mark();
        refuse_inside_work("synchronize_event")?;
        match mark {
            Mark::Never | Mark::Done(_) => {}
            Mark::Pending(record) => record.wait(),
            Mark::Captured(_) => return Err(Error::CapturedEvent { event: event.addr() }),
        }
        Ok(())
    }

    /// Makes what the stream is given from now on wait for the event's last record, as of this
    /// call. The event may be of any device. Never blocks, neither the caller nor a thread of
    /// the pool.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`], [`Error::WrongDevice`] for the stream. While capturing:
    /// [`Error::CaptureIsolation`], [`Error::CaptureMerge`], [`Error::CapturedEvent`].
    pub fn stream_wait_event(&self, device: usize, stream: Stream, event: Event) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let event = core.any_event(event)?;
        match event.mark() {
            Mark::Never => Ok(()),
            Mark::Captured(mark) => Capture::wait(&stream, &event, &mark),
            Mark::Done(_) => stream.capture().map_or(Ok(()), |capture| Err(capture.isolate(&event))),
            Mark::Pending(record) => match stream.submit(Work::Wait(record)) {
                Ok(()) => Ok(()),
                Err(Captured { capture, .. }) => Err(capture.isolate(&event)),
            },
        }
    }

    /// When the event's last record completed, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::EventNotReady`], [`Error::CapturedEvent`],
    /// [`Error::InvalidHandle`].
    pub fn event_time_ns(&self, event: Event) -> Result<u64> {
        match self.core()?.any_event(event)?.mark() {
            Mark::Done(time) => Ok(time),
            Mark::Never => Err(Error::EventNotRecorded { event: event.addr() }),
            Mark::Pending(_) => Err(Error::EventNotReady { event: event.addr() }),
            Mark::Captured(_) => Err(Error::CapturedEvent { event: event.addr() }),
        }
    }

    /// The time from one event to another, in nanoseconds; negative if `end` came first.
    ///
    /// # Errors
    /// As for [`Cpu::event_time_ns`], of either event.
    pub fn event_elapsed_ns(&self, start: Event, end: Event) -> Result<i64> {
        let (start, end) = (self.event_time_ns(start)?, self.event_time_ns(end)?);
        Ok(end.wrapping_sub(start) as i64)
    }
}

/// Queues work, or makes a node of it where the stream is captured.
pub(super) fn submit(
    stream: &Arc<StreamState>,
    work: Work,
    as_node: impl FnOnce(Work) -> Option<Op>,
) -> Result<()> {
    match stream.submit(work) {
        Ok(()) => Ok(()),
        Err(Captured { capture, work }) => match as_node(work) {
            Some(op) => capture.add(stream, op),
            None => Ok(()),
        },
    }
}

fn refuse_captured(stream: &StreamState, call: &'static str) -> Result<()> {
    stream.capture().map_or(Ok(()), |capture| Err(capture.refuse(call)))
}
