//! Creation and destruction of contexts.

use std::sync::Arc;

use crate::api::{AclError, StreamState};
use crate::error::{Error, Result, refuse, unknown_context};
use crate::runtime::Runtime;
use crate::state::context::Context;
use crate::state::device_state::DeviceState;
use crate::state::stream::{NewStream, too_many_streams};

impl Runtime {
    /// Creates a context, which becomes the current one.
    pub(crate) fn create_context(&self, device: i32) -> Result<usize> {
        let context = self.new_context(&self.state.device(device)?, false)?;
        self.notify_default_stream(&context);
        self.state.set_current_context(context.handle);
        Ok(context.handle)
    }

    /// Creates a context without notifying the observers, see
    /// [`notify_default_stream`](Self::notify_default_stream).
    pub(super) fn new_context(&self, device: &Arc<DeviceState>, is_primary: bool) -> Result<Arc<Context>> {
        let lease = self.state.lease(device).map_err(|error| cannot_open(device, &error))?;
        let stream = NewStream::create(&lease, &self.state.failures)?;
        let stream = self.state.streams.insert_with(|handle| stream.finish_default(handle));
        let (_, default_stream) = stream.ok_or_else(too_many_streams)?;
        let context = self.state.contexts.insert_with(|handle| {
            default_stream.set_context(handle);
            Context::new(handle, is_primary, default_stream, lease)
        });
        match context {
            Some((_, context)) => Ok(context),
            None => refuse(AclError::RT_RESOURCE_ALLOC_FAIL, "16 million contexts exist already"),
        }
    }

    /// Notifies the observers of streams about the default stream of a new context. They may call any function, so
    /// the context must be in the tables before.
    pub(super) fn notify_default_stream(&self, context: &Context) {
        self.observers.notify_stream(context.default_stream.handle, StreamState::CREATE_POST);
    }

    /// Destroys a context that the program has created, after waiting for its work.
    pub(crate) fn destroy_context(&self, handle: usize) -> Result<()> {
        let context = self.state.context_of(handle)?;
        if context.is_primary {
            return refuse(
                AclError::RT_CONTEXT_NULL,
                "`context` is the default context of its device, which `aclrtResetDevice` destroys",
            );
        }
        let done = self.state.synchronize_context(&context);
        self.state.clear_current_context(handle);
        let Some(context) = self.state.contexts.remove(handle) else { return Err(unknown_context(handle)) };
        self.destroy_streams_of(&context);
        done
    }

    /// Destroys the streams of a context whose handle is removed.
    pub(super) fn destroy_streams_of(&self, context: &Context) {
        for stream in self.state.streams_of(context) {
            // There is no caller that could receive an error.
            let _ = self.destroy_stream_now(&stream);
        }
    }
}

fn cannot_open(device: &DeviceState, error: &Error) -> Error {
    Error::new(error.status, format!("device {} cannot be opened: {}", device.ordinal, error.message))
}
