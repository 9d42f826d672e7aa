//! Memory of a device, and host memory that it copies from and to.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use tenon::support::Mutex;
use tenon::{AnyPtr, DevicePtr, HostPtr};

use super::device::DeviceState;
use super::lease::Lease;
use super::pool::Owner;
use super::stream::stream_of;
use crate::api::objects::{Allocator, HostStream, Result};
use crate::api::runtime::{KeyValuePairs, MemoryInfo};

/// Memory of the device.
pub(crate) struct DeviceMemory {
    device: Arc<DeviceState>,
    info: MemoryInfo,
    _lease: Lease,
}

impl DeviceMemory {
    pub(crate) fn new(device: Arc<DeviceState>, info: MemoryInfo) -> Self {
        Self { device, info, _lease: Lease::new() }
    }

    fn allocate_for(&self, size: usize, owner: Owner) -> AnyPtr {
        match self.device.pool.allocate(size, owner) {
            Ok(block) => AnyPtr::from_ptr(block.as_ptr()),
            Err(_) => AnyPtr::NULL,
        }
    }
}

#[tenon::object]
impl Allocator for DeviceMemory {
    fn allocate(&self, size: usize) -> AnyPtr {
        self.allocate_for(size, Owner::Anyone)
    }

    fn free(&self, memory: AnyPtr) {
        self.device.pool.free(DevicePtr::from_ptr(memory.as_ptr()));
    }

    fn memory_info(&self) -> MemoryInfo {
        self.info
    }

    fn statistics(&self) -> Result<KeyValuePairs> {
        let figures = self.device.pool.figures();
        let runtime = self.device.host.runtime;
        // SAFETY: the host's own functions, and texts.
        unsafe {
            let mut raw = std::ptr::null_mut();
            runtime.create_key_value_pairs(&raw mut raw)?;
            let pairs = KeyValuePairs::from_raw(raw);
            // The names are those of the host's own arena.
            for (name, figure) in [
                (c"NumAllocs", figures.allocations),
                (c"NumArenaExtensions", figures.device_allocations),
                (c"InUse", figures.used),
                (c"MaxInUse", figures.most_used),
                (c"TotalAllocated", figures.total),
                (c"MaxAllocSize", figures.largest),
            ] {
                let figure = CString::new(figure.to_string()).unwrap_or_default();
                runtime.add_key_value_pair(pairs, name.as_ptr(), figure.as_ptr())?;
            }
            Ok(pairs)
        }
    }

    fn allocate_on_stream(&self, size: usize, stream: HostStream) -> AnyPtr {
        let owner = stream_of(self.device.host, stream).map_or(Owner::Anyone, Owner::Stream);
        self.allocate_for(size, owner)
    }

    fn shrink(&self) -> Result<()> {
        self.device.pool.shrink();
        Ok(())
    }
}

/// Host memory of the device.
pub(crate) struct PinnedMemory {
    device: Arc<DeviceState>,
    info: MemoryInfo,
    sizes: Mutex<HashMap<usize, usize>>,
    _lease: Lease,
}

impl PinnedMemory {
    pub(crate) fn new(device: Arc<DeviceState>, info: MemoryInfo) -> Self {
        Self { device, info, sizes: Mutex::default(), _lease: Lease::new() }
    }
}

#[tenon::object]
impl Allocator for PinnedMemory {
    fn allocate(&self, size: usize) -> AnyPtr {
        let size = size.max(1);
        match self.device.library.device.host_memory_allocate(self.device.id, size) {
            Ok(memory) if !memory.is_null() => {
                self.sizes.lock().insert(memory.addr(), size);
                AnyPtr::from_ptr(memory.as_ptr())
            }
            _ => AnyPtr::NULL,
        }
    }

    fn free(&self, memory: AnyPtr) {
        let Some(size) = self.sizes.lock().remove(&memory.addr()) else { return };
        let memory = HostPtr::from_ptr(memory.as_ptr());
        // Copies of streams may still use it. Nothing can be done about a failure.
        let device = &self.device.library.device;
        let _ = device.synchronize_device(self.device.id);
        let _ = device.host_memory_deallocate(self.device.id, memory, size);
    }

    fn memory_info(&self) -> MemoryInfo {
        self.info
    }
}
