//! The provider of devices. The library that uses this crate decides how plugins are found.

use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};

/// The devices that programs address as 0, 1, 2 and so on.
pub trait Devices: Send + Sync + 'static {
    /// Returns the number of devices.
    ///
    /// # Errors
    /// If they cannot be counted.
    fn count(&self) -> device::Result<u32>;

    /// Opens a device. A device may be opened several times; each opening is closed separately.
    ///
    /// # Errors
    /// If the device cannot be opened.
    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>>;

    /// Runs after the program has finalized the library, and all devices that can be closed were closed.
    fn ended(&self) {}

    /// Returns the type of the devices, which programs see as the name of the chip.
    fn device_type(&self) -> String;

    /// Returns true if device memory is memory of this process, at the same addresses. In that case the host performs
    /// the operations that devices do not support.
    fn memory_is_host(&self) -> bool {
        false
    }
}

/// An open device. Any thread may use it.
pub trait OpenDevice: Send + Sync + 'static {
    /// Calls the device. While the body runs, the device is the thread's current one and stays open.
    ///
    /// # Errors
    /// The error of the body, or an error if the device is closed.
    fn call(&self, body: &mut dyn FnMut(&dyn Device, DeviceId) -> device::Result<()>) -> device::Result<()>;

    /// Closes the device when no call uses it any more. Later calls fail.
    fn close(&self);
}

/// A provider without devices.
pub(crate) struct NoDevices;

impl Devices for NoDevices {
    fn count(&self) -> device::Result<u32> {
        Ok(0)
    }

    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>> {
        Err(device::Error::invalid(format!("there is no device {ordinal}; no device exists")))
    }

    fn device_type(&self) -> String {
        "none".to_owned()
    }
}
