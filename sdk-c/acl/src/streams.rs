//! What programs do with streams: making, destroying, waiting.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::api::{AclError, StreamState};
use crate::context::{Context, gone};
use crate::error::{Error, Result, refuse};
use crate::runtime::Runtime;
use crate::stream::{MOST, Making, Stream, too_many};
use crate::wait;

/// The least urgent priority of a stream; the most urgent one is 0.
pub(crate) const LEAST_PRIORITY: u32 = 7;

impl Runtime {
    /// Makes a stream in the current context.
    pub(crate) fn create_stream(&self, priority: u32, flags: u32) -> Result<usize> {
        let context = self.context()?;
        check_config(priority, flags)?;
        let stream = self.stream_in(&context, priority, flags)?;
        context.streams().insert(stream.handle);
        if self.contexts.get(context.handle).is_none() {
            // Whoever has destroyed the context meanwhile may not have seen the stream.
            let _ = self.take_stream(&stream);
            return Err(gone(context.handle));
        }
        self.observers.tell_stream(stream.handle, StreamState::CREATE_POST);
        Ok(stream.handle)
    }

    fn stream_in(&self, context: &Context, priority: u32, flags: u32) -> Result<Arc<Stream>> {
        let making = Making::begin(&context.lease.home, &context.lease.unit, &self.exceptions)?;
        let stream =
            self.streams.insert_with(|handle| making.finish(handle, context.handle, priority, flags));
        stream.ok_or_else(too_many)
    }

    /// Waits for the work of a stream and destroys it.
    pub(crate) fn destroy_stream(&self, handle: usize) -> Result<()> {
        let stream = self.own_stream(handle)?;
        self.observers.tell_stream(handle, StreamState::DESTROY_PRE);
        // Before it is taken away, since the callbacks that are waited for may use it.
        let done = stream.synchronize(None);
        self.take_stream(&stream)?;
        done.map(drop)
    }

    /// Destroys a stream, and with it what the device does not know of yet.
    pub(crate) fn destroy_stream_force(&self, handle: usize) -> Result<()> {
        let stream = self.own_stream(handle)?;
        self.force(&stream)
    }

    /// Ends a stream whatever it waits for.
    pub(crate) fn force(&self, stream: &Arc<Stream>) -> Result<()> {
        self.observers.tell_stream(stream.handle, StreamState::DESTROY_PRE);
        stream.abandon();
        self.reports.forget(stream);
        let _ = stream.finish_abandoned();
        self.take_stream(stream)
    }

    /// A stream that the program made itself.
    fn own_stream(&self, handle: usize) -> Result<Arc<Stream>> {
        let stream = if handle == 0 { None } else { Some(self.stream(handle)?) };
        stream.filter(|stream| !stream.is_default).ok_or_else(|| {
            let message = "`stream` is the default stream, which goes with its context";
            Error::new(AclError::INVALID_PARAM, message)
        })
    }

    fn take_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        if self.streams.remove(stream.handle).is_none() {
            return Err(crate::runtime::unknown("stream", stream.handle));
        }
        if let Some(context) = self.contexts.get(stream.context()) {
            context.streams().remove(&stream.handle);
        }
        self.reports.forget(stream);
        stream.destroy()
    }

    /// Waits for a stream.
    pub(crate) fn synchronize_stream(&self, handle: usize, timeout: i32) -> Result<()> {
        let until = wait::deadline(timeout)?;
        let stream = self.stream(handle)?;
        if stream.synchronize(until)? {
            return Ok(());
        }
        refuse(
            AclError::RT_STREAM_SYNC_TIMEOUT,
            format!("stream {} was not done within {timeout} ms", stream.id),
        )
    }

    /// How many streams can still be made on the current device.
    pub(crate) fn streams_available(&self) -> Result<u32> {
        let context = self.context()?;
        let taken = context.lease.home.state().stream_ids.len();
        Ok(MOST - u32::try_from(taken).unwrap_or(MOST))
    }

    /// Says what a stream is to do after a failure, which is kept.
    pub(crate) fn set_failure_mode(&self, handle: usize, mode: u64) -> Result<()> {
        let stream = self.own_stream(handle)?;
        match u32::try_from(mode) {
            Ok(mode @ 0..=1) => stream.failure_mode.store(mode, Ordering::Relaxed),
            _ => return refuse(AclError::INVALID_PARAM, format!("`mode` is {mode}; it is 0 or 1")),
        }
        Ok(())
    }

    /// Throws away what a stream has not begun.
    pub(crate) fn abort_stream(&self, handle: usize) -> Result<()> {
        let stream = self.stream(handle)?;
        stream.abandon();
        stream.finish_abandoned()
    }
}

/// What a stream can be asked to be.
mod flag {
    /// All that there are.
    pub(super) const ALL: u32 = 0x3f;
    /// Those for a stream that the device schedules by itself.
    pub(super) const DEVICE: u32 = 0x30;
}

fn check_config(priority: u32, flags: u32) -> Result<()> {
    if priority > LEAST_PRIORITY {
        return refuse(
            AclError::INVALID_PARAM,
            format!("`priority` is {priority}; it is 0, the most urgent, to {LEAST_PRIORITY}"),
        );
    }
    if flags & !flag::ALL != 0 {
        return refuse(AclError::INVALID_PARAM, format!("`flag` is {flags:#x}, which is no set of flags"));
    }
    if flags & flag::DEVICE != 0 {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`flag` is {flags:#x}: no stream here is scheduled by the device itself"),
        );
    }
    Ok(())
}
