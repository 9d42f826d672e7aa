//! Where devices come from: this crate knows nothing of how plugins are found.

use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};

/// The devices that programs see as 0, 1, 2 and so on.
pub trait Devices: Send + Sync + 'static {
    /// How many there are.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn count(&self) -> device::Result<u32>;

    /// Opens one of them. Two that are open at the same time may be the same; each is closed by itself.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>>;

    /// Called when the program has ended the runtime and all devices that can be closed are.
    fn ended(&self) {}

    /// A name for what all of them are, which programs see as that of the chip.
    fn device_type(&self) -> String;

    /// Whether their memory is memory of this process, at the same addresses: then what no device can do with it, the host
    /// does.
    fn memory_is_host(&self) -> bool {
        false
    }
}

/// A device that was opened. Any thread may use it.
pub trait OpenDevice: Send + Sync + 'static {
    /// Calls the device, which is the current one of the thread while the body runs, and stays open as long.
    ///
    /// # Errors
    /// What the body answers, or that the device is closed.
    fn call(&self, body: &mut dyn FnMut(&dyn Device, DeviceId) -> device::Result<()>) -> device::Result<()>;

    /// Closes it, once no call uses it. Calls that come later fail.
    fn close(&self);
}

/// No devices at all.
pub(crate) struct Nothing;

impl Devices for Nothing {
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
