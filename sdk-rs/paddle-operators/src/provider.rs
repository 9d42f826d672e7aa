//! The device whose operators PaddlePaddle calls.

use std::sync::OnceLock;

use tenon::DevicePtr;
use tenon::device::{DataType, Device as _, DeviceId, Plugin, Result};
use tenon::operators::{Launch, Operators};

/// The kind of memory that a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Only the device can access it.
    OfTheDevice,
    /// It is host memory.
    OfTheHost,
}

/// A device and its operators.
pub(crate) struct Provider {
    pub(crate) operators: &'static dyn Operators,
    pub(crate) memory: Memory,
    pub(crate) current_device: fn() -> Result<DeviceId>,
    pub(crate) synchronize: fn(Launch) -> Result<()>,
    pub(crate) copy_to_device: fn(DeviceId, DevicePtr, &[u8]) -> Result<()>,
    pub(crate) copy_to_host: fn(DeviceId, &mut [u8], DevicePtr) -> Result<()>,
}

impl Provider {
    pub(crate) fn new<D: Plugin>(operators: &'static dyn Operators, memory: Memory) -> Self {
        Self {
            operators,
            memory,
            current_device: || D::whole().get_device(),
            synchronize: |launch| launch.synchronize(&D::whole()),
            copy_to_device: |device, target, source| D::whole().memory_copy_h2d(device, target, source),
            copy_to_host: |device, target, source| D::whole().memory_copy_d2h(device, target, source),
        }
    }

    /// Returns true if the device has all of some methods for elements of a type.
    pub(crate) fn provides(&self, methods: &[&str], ty: DataType) -> bool {
        methods.iter().all(|method| self.operators.provides(method, ty))
    }
}

static PROVIDER: OnceLock<Provider> = OnceLock::new();

/// Sets the provider of this library. The first one stays.
pub(crate) fn install(provider: Provider) -> &'static Provider {
    PROVIDER.get_or_init(|| provider)
}

/// Returns the provider. Kernels run only after one is installed.
pub(crate) fn get() -> Option<&'static Provider> {
    PROVIDER.get()
}
