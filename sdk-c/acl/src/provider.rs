//! The provider of devices: how plugins are found is left to the library that uses this crate.

use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};

/// The devices that programs see as 0, 1, 2 and so on.
pub trait Devices: Send + Sync + 'static {
    /// Returns the number of devices.
    ///
    /// # Errors
    /// If they cannot be counted.
    fn count(&self) -> device::Result<u32>;

    /// Opens a device. The same device may be opened several times; each is closed by itself.
    ///
    /// # Errors
    /// If the device cannot be opened.
    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>>;

    /// Called when the program has finalized the library and all devices that can be closed are closed.
    fn ended(&self) {}

    /// Returns the type of the devices, which programs see as the name of the chip.
    fn device_type(&self) -> String;

    /// Returns true if device memory is memory of this process at the same addresses. The host then does what the devices
    /// cannot do with it.
    fn memory_is_host(&self) -> bool {
        false
    }
}

/// An open device. Any thread may use it.
pub trait OpenDevice: Send + Sync + 'static {
    /// Calls the device. It is the thread's current device while the body runs, and stays open.
    ///
    /// # Errors
    /// The error of the body, or an error if the device is closed.
    fn call(&self, body: &mut dyn FnMut(&dyn Device, DeviceId) -> device::Result<()>) -> device::Result<()>;

    /// Closes the device once no call uses it. Later calls fail.
    fn close(&self);
}

/// A provider without devices.
pub(crate) struct NoDevices;

impl Devices for NoDevices {
    fn count(&self) -> device::Result<u32> {
        Ok(0)
    }

    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>> {
        Err(device::Error::invalid(format!("there is no device {ordinal}; there is none at all")))
    }

    fn device_type(&self) -> String {
        "none".to_owned()
    }
}
