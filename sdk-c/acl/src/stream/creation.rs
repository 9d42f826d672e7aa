//! Creation and destruction of streams.

use std::sync::Arc;

use crate::api::{AclError, StreamState};
use crate::error::{Error, Result, refuse, unknown_context, unknown_handle};
use crate::runtime::Runtime;
use crate::state::stream::{NewStream, Stream, too_many_streams};
use crate::stream::config::StreamConfig;

impl Runtime {
    /// Creates a stream in the current context.
    pub(crate) fn create_stream(&self, config: StreamConfig) -> Result<usize> {
        let context = self.state.context()?;
        let (priority, flags) = config.checked()?;
        let stream = NewStream::create(&context.lease, &self.state.failures)?;
        let stream =
            self.state.streams.insert_with(|handle| stream.finish(handle, context.handle, priority, flags));
        let (_, stream) = stream.ok_or_else(too_many_streams)?;
        context.streams().insert(stream.handle);
        if self.state.contexts.get(context.handle).is_none() {
            // The thread that destroyed the context in the meantime may have missed the stream.
            let _ = self.remove_stream(&stream);
            return Err(unknown_context(context.handle));
        }
        self.observers.notify_stream(stream.handle, StreamState::CREATE_POST);
        Ok(stream.handle)
    }

    /// Destroys a stream after waiting for its work.
    pub(crate) fn destroy_stream(&self, handle: usize) -> Result<()> {
        let stream = self.created_stream(handle)?;
        self.observers.notify_stream(handle, StreamState::DESTROY_PRE);
        // Before the handle is removed, since the callbacks that this waits for may use it.
        let done = stream.synchronize(None);
        self.remove_stream(&stream)?;
        done.map(drop)
    }

    /// Destroys a stream and drops its pending work.
    pub(crate) fn destroy_stream_force(&self, handle: usize) -> Result<()> {
        let stream = self.created_stream(handle)?;
        self.destroy_stream_now(&stream)
    }

    /// Destroys any stream, also a default one, and drops its pending work.
    pub(crate) fn destroy_stream_now(&self, stream: &Arc<Stream>) -> Result<()> {
        self.observers.notify_stream(stream.handle, StreamState::DESTROY_PRE);
        stream.drop_pending();
        self.subscriptions.end_stream(stream);
        let _ = stream.finish_dropped();
        self.remove_stream(stream)
    }

    /// Returns the stream of a handle, if the program created it.
    pub(crate) fn created_stream(&self, handle: usize) -> Result<Arc<Stream>> {
        let stream = if handle == 0 { None } else { Some(self.state.stream(handle)?) };
        stream.filter(|stream| !stream.is_default).ok_or_else(|| {
            let message = "`stream` is the default stream, which is destroyed with its context";
            Error::new(AclError::INVALID_PARAM, message)
        })
    }

    fn remove_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        if self.state.streams.remove(stream.handle).is_none() {
            return Err(unknown_handle("stream", stream.handle));
        }
        if let Some(context) = self.state.contexts.get(stream.context()) {
            context.streams().remove(&stream.handle);
        }
        self.subscriptions.end_stream(stream);
        stream.destroy()
    }

    /// Waits for a stream.
    pub(crate) fn synchronize_stream(&self, handle: usize, timeout: i32) -> Result<()> {
        let until = crate::wait::deadline(timeout)?;
        let stream = self.state.stream(handle)?;
        if stream.synchronize(until)? {
            return Ok(());
        }
        refuse(
            AclError::RT_STREAM_SYNC_TIMEOUT,
            format!("stream {} did not finish within {timeout} ms", stream.id),
        )
    }
}
