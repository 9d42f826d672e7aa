//! A device of the library in the host.

use std::sync::{Arc, OnceLock};

use tenon::device::DeviceId;

use super::Pool;
use crate::api::objects::{KernelRegistry, Result};
use crate::api::runtime::{AllocatorType, MemoryAccess, MemoryDeviceType, MemoryInfo};
use crate::host::Host;
use crate::library::{Library, Memory};
use crate::nodes::Registry;

/// What sessions, kernels and streams of a device share.
pub(crate) struct DeviceState {
    pub(crate) library: &'static Library,
    pub(crate) host: Host,
    pub(crate) id: DeviceId,
    /// The memory of tensors, and of the intermediate results of kernels.
    pub(crate) pool: Arc<Pool>,
    infos: Option<Infos>,
    registry: OnceLock<Registry>,
}

/// The kinds of memory that the host knows.
#[derive(Clone, Copy)]
pub(crate) struct Infos {
    /// Memory of the device.
    pub(crate) device: MemoryInfo,
    /// Host memory that the device copies from and to faster than from other memory.
    pub(crate) pinned: MemoryInfo,
}

impl DeviceState {
    pub(crate) fn new(library: &'static Library, host: Host, id: DeviceId) -> Result<Self> {
        let pool = Arc::new(Pool::new(&*library.device, id));
        let describe = |access| {
            // A device with memory of its own counts as a GPU: the host inserts copies.
            let kind = MemoryDeviceType::GPU;
            // SAFETY: the host's own function, and a text.
            unsafe {
                host.runtime.create_memory_info(
                    library.name.as_ptr(),
                    kind,
                    library.vendor_id,
                    id.0,
                    access,
                    ALIGNMENT,
                    AllocatorType::DEVICE,
                )
            }
        };
        let infos = match library.memory {
            Memory::OfTheHost => None,
            Memory::OfTheDevice => Some(Infos {
                device: describe(MemoryAccess::DEFAULT)?,
                pinned: describe(MemoryAccess::HOST_ACCESSIBLE)?,
            }),
        };
        Ok(Self { library, host, id, pool, infos, registry: OnceLock::new() })
    }

    /// Returns the kinds of memory of the device; `None` if its memory is that of the host.
    pub(crate) fn infos(&self) -> Option<Infos> {
        self.infos
    }

    /// Returns the kernels of the device, which it makes for the first session.
    pub(crate) fn kernels(self: &Arc<Self>) -> Result<KernelRegistry> {
        if let Some(registry) = self.registry.get() {
            return Ok(registry.handle());
        }
        let made = Registry::new(self)?;
        // If two sessions begin at once, one registry is dropped.
        Ok(self.registry.get_or_init(|| made).handle())
    }
}

/// The alignment of memory that the device promises, in bytes.
const ALIGNMENT: usize = 64;

impl Drop for DeviceState {
    fn drop(&mut self) {
        if let Some(Infos { device, pinned }) = self.infos {
            // SAFETY: they are released once, and their entries are gone with the factory.
            let released =
                unsafe { [device, pinned].map(|info| self.host.runtime.release_memory_info(info)) };
            drop(released);
        }
    }
}
