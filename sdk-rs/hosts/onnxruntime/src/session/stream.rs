//! Streams and notifications.

use std::sync::Arc;

use tenon::AnyPtr;
use tenon::device::{Event, Stream as DeviceStream};

use super::device::DeviceState;
use crate::api::objects::{Error, HostStream, Notification, Result, Stream};
use crate::error::reported;
use crate::host::Host;

/// A stream of a device.
pub(crate) struct StreamState {
    device: Arc<DeviceState>,
    pub(crate) stream: DeviceStream,
}

impl Drop for StreamState {
    fn drop(&mut self) {
        let device = &self.device.library.device;
        // A failure of the work was reported to the run. Blocks of the pool may be used again in any case.
        let _ = device.synchronize_stream(self.device.id, self.stream);
        self.device.pool.remove_stream(self.stream);
        let _ = device.destroy_stream(self.device.id, self.stream);
    }
}

/// A stream in the host. Its handle is the address of its state.
pub(crate) struct SessionStream(Arc<StreamState>);

impl SessionStream {
    pub(crate) fn new(device: Arc<DeviceState>) -> Result<Self> {
        let stream = device.library.device.create_stream(device.id).map_err(reported)?;
        device.pool.add_stream(stream);
        Ok(Self(Arc::new(StreamState { device, stream })))
    }
}

#[tenon::object]
impl Stream for SessionStream {
    fn handle(&self) -> AnyPtr {
        AnyPtr::from_ptr(Arc::as_ptr(&self.0))
    }

    fn create_notification(&self) -> Result<Box<dyn Notification>> {
        let device = &self.0.device;
        let event = device.library.device.create_event(device.id).map_err(reported)?;
        Ok(Box::new(StreamNotification { state: Arc::clone(&self.0), event }))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn session_run_ends(&self) -> Result<()> {
        // The host passes the outputs of a run to the program, which does not know the stream.
        let device = &self.0.device;
        device.library.device.synchronize_stream(device.id, self.0.stream).map_err(reported)
    }
}

/// A point in the work of a stream.
struct StreamNotification {
    state: Arc<StreamState>,
    event: Event,
}

#[tenon::object]
impl Notification for StreamNotification {
    fn activate(&self) -> Result<()> {
        let device = &self.state.device;
        device.library.device.record_event(device.id, self.state.stream, self.event).map_err(reported)
    }

    fn wait_on_device(&self, stream: HostStream) -> Result<()> {
        let device = &self.state.device;
        match stream_of(device.host, stream) {
            Some(waiting) => {
                device.library.device.stream_wait_event(device.id, waiting, self.event).map_err(reported)
            }
            // Another provider's stream cannot wait for an event of this one.
            None => self.wait_on_host(),
        }
    }

    fn wait_on_host(&self) -> Result<()> {
        let device = &self.state.device;
        device.library.device.synchronize_event(device.id, self.event).map_err(reported)
    }
}

impl Drop for StreamNotification {
    fn drop(&mut self) {
        let device = &self.state.device;
        let _ = device.library.device.destroy_event(device.id, self.event);
    }
}

/// Returns the stream of a device behind a stream of the host; `None` if it is not one of this library.
pub(crate) fn stream_of(host: Host, stream: HostStream) -> Option<DeviceStream> {
    if stream.is_null() {
        return None;
    }
    // SAFETY: the host passes a stream that is alive. The object is looked up among those of this library.
    unsafe {
        let object = host.ep.stream_impl(stream).ok()?;
        let object = tenon::support::given_object::<_, dyn Stream>("stream", object.cast());
        let object: std::result::Result<&dyn Stream, Error> = object;
        state_of(object.ok()?.handle()).map(|state| state.stream)
    }
}

/// Returns the stream behind a handle that [`SessionStream`] has returned; `None` for null.
///
/// # Safety
/// The handle is null or of a stream that is alive as long as the result is used.
pub(crate) unsafe fn state_of<'s>(handle: AnyPtr) -> Option<&'s StreamState> {
    // SAFETY: the caller's promise.
    unsafe { handle.as_ptr().cast::<StreamState>().as_ref() }
}
