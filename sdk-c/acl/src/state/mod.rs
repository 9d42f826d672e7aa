//! The shared state: devices, contexts, streams and memory blocks. Every subsystem uses it.
//!
//! This folder does not depend on subsystems.

pub(crate) mod advice;
pub(crate) mod blocks;
pub(crate) mod context;
pub(crate) mod device_state;
pub(crate) mod failures;
pub(crate) mod handles;
pub(crate) mod pending_queue;
pub(crate) mod session;
pub(crate) mod stream;
pub(crate) mod thread_slots;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use self::blocks::Blocks;
use self::context::Context;
use self::device_state::{DeviceState, Lease};
use self::failures::Failures;
use self::handles::HandleKind;
use self::stream::Stream;
use crate::api::AclError;
use crate::error::{Error, Result, of_device, refuse, unknown_context, unknown_handle};
use crate::provider::Devices;

/// The state that all subsystems share.
pub(crate) struct State {
    /// Distinguishes the current contexts of several runtimes.
    pub(crate) instance: u64,
    pub(crate) provider: Arc<dyn Devices>,
    devices: Mutex<BTreeMap<u32, Arc<DeviceState>>>,
    pub(crate) contexts: HandleTable<Context>,
    pub(crate) streams: HandleTable<Stream>,
    pub(crate) blocks: Blocks,
    pub(crate) failures: Arc<Failures>,
}

impl State {
    pub(crate) fn new(provider: Arc<dyn Devices>) -> Self {
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        State {
            instance: INSTANCES.fetch_add(1, Ordering::Relaxed) + 1,
            provider,
            devices: Mutex::default(),
            contexts: HandleTable::new(HandleKind::Context as u8),
            streams: HandleTable::new(HandleKind::Stream as u8),
            blocks: Blocks::default(),
            failures: Arc::default(),
        }
    }

    /// Returns the number of devices.
    pub(crate) fn device_count(&self) -> Result<u32> {
        self.provider
            .count()
            .map_err(|error| Error::new(AclError::RT_NO_DEVICE, of_device(&error).message.clone()))
    }

    /// Returns the device with a number.
    pub(crate) fn device(&self, ordinal: impl Into<i64>) -> Result<Arc<DeviceState>> {
        let (ordinal, count) = (ordinal.into(), self.device_count()?);
        match u32::try_from(ordinal) {
            Ok(number) if number < count => {
                let mut devices = self.devices.lock();
                Ok(devices.entry(number).or_insert_with(|| DeviceState::new(number)).clone())
            }
            _ => refuse(
                AclError::RT_INVALID_DEVICEID,
                match count {
                    0 => format!("there is no device {ordinal}; no device exists"),
                    1 => format!("there is no device {ordinal}; there is one, number 0"),
                    _ => format!("there is no device {ordinal}; there are 0 to {}", count - 1),
                },
            ),
        }
    }

    /// Returns all devices that were ever looked up.
    pub(crate) fn known_devices(&self) -> Vec<Arc<DeviceState>> {
        self.devices.lock().values().cloned().collect()
    }

    /// Leases a device, and opens it if it is closed.
    pub(crate) fn lease(&self, device: &Arc<DeviceState>) -> Result<Lease> {
        device.lease(&*self.provider)
    }

    /// Returns the device of the current context.
    pub(crate) fn current_device(&self) -> Result<Arc<DeviceState>> {
        Ok(self.context()?.lease.device.clone())
    }

    /// Leases the device of the current context.
    pub(crate) fn lease_current_device(&self) -> Result<Lease> {
        self.lease(&self.context()?.lease.device)
    }

    /// Waits for all work of a device. Returns false if the deadline passes first.
    pub(crate) fn synchronize_device(&self, device: &DeviceState, until: Option<Instant>) -> Result<bool> {
        let mut done = Ok(true);
        for stream in self.streams.all() {
            if stream.session.ordinal != device.ordinal {
                continue;
            }
            match stream.synchronize(until) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => done = done.and(Err(error)),
            }
        }
        done
    }

    /// Returns the current context of the calling thread.
    pub(crate) fn context(&self) -> Result<Arc<Context>> {
        self.contexts.get(thread_slots::context(self.instance)).ok_or_else(|| self.no_context())
    }

    #[cold]
    fn no_context(&self) -> Error {
        Error::new(
            AclError::RT_CONTEXT_NULL,
            match thread_slots::context(self.instance) {
                0 => "this thread has no current context; set a device or a context first",
                _ => "the current context of this thread was destroyed; set a device or a context first",
            },
        )
    }

    /// Returns the context of a handle.
    pub(crate) fn context_of(&self, handle: usize) -> Result<Arc<Context>> {
        self.contexts.get(handle).ok_or_else(|| unknown_context(handle))
    }

    /// Sets the current context of the calling thread.
    pub(crate) fn set_current_context(&self, context: usize) {
        thread_slots::set_context(self.instance, context);
    }

    /// Clears the current context of the calling thread, if it is this one.
    pub(crate) fn clear_current_context(&self, context: usize) {
        if thread_slots::context(self.instance) == context {
            thread_slots::set_context(self.instance, 0);
        }
    }

    /// Returns all streams of a context, the default one first.
    pub(crate) fn streams_of(&self, context: &Context) -> Vec<Arc<Stream>> {
        let handles: Vec<usize> = context.streams().iter().copied().collect();
        let created = handles.into_iter().filter_map(|handle| self.streams.get(handle));
        std::iter::once(context.default_stream.clone()).chain(created).collect()
    }

    /// Waits for all work of a context.
    pub(crate) fn synchronize_context(&self, context: &Context) -> Result<()> {
        let mut done = Ok(());
        for stream in self.streams_of(context) {
            let waited = stream.synchronize(None).map(drop);
            done = done.and(waited);
        }
        done
    }

    /// Returns the stream of a handle, which must belong to the current context. 0 is the context's default stream.
    pub(crate) fn stream(&self, handle: usize) -> Result<Arc<Stream>> {
        let context = self.context()?;
        if handle == 0 {
            return Ok(context.default_stream.clone());
        }
        let stream = self.stream_of(handle)?;
        if stream.context() != context.handle {
            return refuse(
                AclError::RT_STREAM_CONTEXT,
                "`stream` does not belong to the current context of this thread",
            );
        }
        Ok(stream)
    }

    /// Returns the stream of a handle in any context. 0 is the default stream of the current context.
    pub(crate) fn stream_of_any_context(&self, handle: usize) -> Result<Arc<Stream>> {
        if handle == 0 { Ok(self.context()?.default_stream.clone()) } else { self.stream_of(handle) }
    }

    fn stream_of(&self, handle: usize) -> Result<Arc<Stream>> {
        self.streams.get(handle).ok_or_else(|| unknown_handle("stream", handle))
    }
}
