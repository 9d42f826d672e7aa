//! An open device: calls to it, and its pool of events.

use std::sync::{Arc, MutexGuard, RwLockReadGuard};
use tenon::support::{Mutex, RwLock};

use tenon::device::{self, Device, DeviceId};

use crate::api::AclError;
use crate::error::{Result, of_device, refuse};
use crate::provider::OpenDevice;

/// An open device, from the first lease to the last.
pub(crate) struct DeviceSession {
    pub(crate) ordinal: u32,
    /// True if the memory of the device is memory of this process.
    pub(crate) memory_is_host: bool,
    opened: Arc<dyn OpenDevice>,
    events: Mutex<EventPool>,
    /// True after the pooled events were destroyed. Locked for reading during device calls that use one of them.
    is_closed: RwLock<bool>,
}

/// The pooled events of a device. Each record of a program's event takes one, and returns it when nothing refers to
/// the record any more. So an event can be recorded again while streams still wait for its last record.
#[derive(Default)]
struct EventPool {
    idle: Vec<device::Event>,
    created: Vec<device::Event>,
}

impl DeviceSession {
    pub(super) fn new(ordinal: u32, memory_is_host: bool, opened: Arc<dyn OpenDevice>) -> Arc<Self> {
        let (events, is_closed) = (Mutex::default(), RwLock::new(false));
        Arc::new(DeviceSession { ordinal, memory_is_host, opened, events, is_closed })
    }

    /// Calls the device, and converts its errors to the codes of this interface.
    pub(crate) fn call<R>(&self, body: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>) -> Result<R> {
        self.call_raw(body).map_err(|error| of_device(&error))
    }

    /// Calls the device, and returns its own errors.
    pub(crate) fn call_raw<R>(
        &self,
        body: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>,
    ) -> device::Result<R> {
        let (mut body, mut result) = (Some(body), None);
        self.opened.call(&mut |device, id| {
            if let Some(body) = body.take() {
                result = Some(body(device, id)?);
            }
            Ok(())
        })?;
        result.ok_or_else(|| device::Error::new(device::Status::INTERNAL_ERROR, "the device was not called"))
    }

    /// Takes a pooled event. Return it with [`return_event`](Self::return_event).
    pub(crate) fn take_event(&self) -> Result<device::Event> {
        let is_closed = self.is_closed();
        if *is_closed {
            let message = format!("device {} was reset by another thread in the meantime", self.ordinal);
            return refuse(AclError::RT_INVALID_HANDLE, message);
        }
        if let Some(event) = self.events().idle.pop() {
            return Ok(event);
        }
        let event = self.call(|device, id| device.create_event(id))?;
        self.events().created.push(event);
        Ok(event)
    }

    /// Returns an event to the pool. A record of it may still be queued.
    pub(crate) fn return_event(&self, event: device::Event) {
        self.events().idle.push(event);
    }

    /// Returns true if a pooled event is complete; all are after the device is closed.
    pub(crate) fn is_event_done(&self, event: device::Event) -> Result<bool> {
        let is_closed = self.is_closed();
        if *is_closed { Ok(true) } else { self.call(|device, id| device.query_event(id, event)) }
    }

    /// Waits until a pooled event is complete. The device is not closed during the wait.
    pub(crate) fn wait_for_event(&self, event: device::Event) -> Result<()> {
        let is_closed = self.is_closed();
        if *is_closed { Ok(()) } else { self.call(|device, id| device.synchronize_event(id, event)) }
    }

    /// Returns the time between two completed pooled events, in nanoseconds; `None` if the device does not measure
    /// it.
    pub(crate) fn time_between_events(&self, start: device::Event, end: device::Event) -> Option<i64> {
        let is_closed = self.is_closed();
        if *is_closed {
            return None;
        }
        self.call_raw(|device, id| device.event_elapsed_time(id, start, end)).ok()
    }

    fn is_closed(&self) -> RwLockReadGuard<'_, bool> {
        self.is_closed.read()
    }

    fn events(&self) -> MutexGuard<'_, EventPool> {
        self.events.lock()
    }

    /// Destroys the pooled events and closes the device.
    pub(super) fn close(&self) {
        *self.is_closed.write() = true;
        let created = std::mem::take(&mut *self.events()).created;
        for event in created {
            // There is no caller that could receive an error.
            let _ = self.call(|device, id| device.destroy_event(id, event));
        }
        self.opened.close();
    }
}
