//! Allocation.

use super::Cpu;
use super::core::Core;
use crate::error::{Error, Result};
use crate::executor::context;
use crate::executor::work::Work;
use crate::memory::{Allocation, Arena, HostStats, MemoryStats, Owner as _, PointerInfo, Space};
use std::sync::Arc;
use tenon::device::DeviceId;
use tenon::support::has_room;
use tenon::{DevicePtr, HostPtr, UnifiedPtr};

/// # Allocation
///
/// Memory is aligned to 64 bytes, blocks of whole pages to 4096, and not cleared. A request of zero bytes
/// gets a unique pointer. Memory comes from the system at each allocation and returns to it after the free;
/// the device caches nothing.
///
/// A free never waits. The memory cannot be used from then on, but it is returned to the system
/// only when no work queued before can access it: copies and fills guard the memory that they
/// use, and every busy stream of the device must pass first, since its kernels may use it too. On
/// an idle device, the memory is returned at once. Kernels on the streams of another device are not
/// considered: wait for them before you free memory that they use. Kernels of all devices may use
/// unified and host memory, so the streams of all devices must pass.
impl Cpu {
    /// Allocates memory of the device. The trait's function returns null if there is none.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. If queued work keeps freed memory, that work is waited for first
    /// (not inside a callback).
    pub fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
        let core = self.core()?;
        allocate(core, &core.device(device)?.memory, device, size, Space::Device).map(DevicePtr::from_addr)
    }

    /// Allocates memory, out of the device's budget, that the host and all devices may use.
    ///
    /// # Errors
    /// As [`Cpu::device_memory_allocate`].
    pub fn unified_memory_allocate(&self, device: DeviceId, size: usize) -> Result<UnifiedPtr> {
        let core = self.core()?;
        allocate(core, &core.device(device)?.memory, device, size, Space::Unified).map(UnifiedPtr::from_addr)
    }

    /// Allocates host memory, locked in place if the system allows it.
    ///
    /// [`Cpu::pointer_info`] and [`Cpu::host_memory_stats`] report if it is locked.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system has none.
    pub fn host_memory_allocate(&self, device: DeviceId, size: usize) -> Result<HostPtr> {
        let core = self.core()?;
        allocate(core, &core.device(device)?.host, device, size, Space::Host).map(HostPtr::from_addr)
    }

    /// Describes the live allocation that the address lies in.
    ///
    /// # Errors
    /// [`Error::UnknownPointer`].
    pub fn pointer_info(&self, ptr: usize) -> Result<PointerInfo> {
        self.core()?.registry.info(ptr)
    }

    /// Returns the memory of the device.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`].
    pub fn device_memory_stats(&self, device: DeviceId) -> Result<MemoryStats> {
        Ok(self.core()?.device(device)?.memory.stats())
    }

    /// Returns the host memory allocated through the device.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`].
    pub fn host_memory_stats(&self, device: DeviceId) -> Result<HostStats> {
        Ok(self.core()?.device(device)?.host.host_stats())
    }
}

fn allocate(core: &Core, arena: &Arena, device: DeviceId, size: usize, space: Space) -> Result<usize> {
    if !has_room() {
        return Err(Error::OutOfHostMemory);
    }
    let first = arena.allocate(size, space);
    match first {
        Err(Error::OutOfMemory { .. }) if arena.has_deferred_frees() && !context::is_inside() => {
            core.finish(device);
            arena.allocate(size, space)
        }
        other => other,
    }
}

pub(super) fn free(
    core: &Core,
    arena: &Arena,
    device: DeviceId,
    ptr: usize,
    size: usize,
    space: Space,
) -> Result<()> {
    let allocation = core.registry.find(ptr).ok_or(Error::UnknownPointer { ptr })?;
    if allocation.device != device {
        return Err(Error::PointerOnOtherDevice { ptr, owner: allocation.device, device });
    }
    if allocation.space() != space {
        return Err(Error::WrongSpace { ptr, expected: space, actual: allocation.space() });
    }
    if is_idle(core, device, space) {
        return arena.free(allocation, ptr, size);
    }
    free_after_queued_work(core, arena, allocation, ptr, size)
}

/// Returns true if no stream that may use the memory has work. Kernels use memory of their device, and shared
/// memory.
fn is_idle(core: &Core, device: DeviceId, space: Space) -> bool {
    match space {
        Space::Device => core.device(device).is_ok_and(|state| state.load.is_idle()),
        Space::Unified | Space::Host => core.devices.iter().all(|state| state.load.is_idle()),
    }
}

fn free_after_queued_work(
    core: &Core,
    arena: &Arena,
    allocation: Arc<Allocation>,
    ptr: usize,
    size: usize,
) -> Result<()> {
    let (guard, owner) = (allocation.guard(), allocation.device);
    let all = allocation.space() != Space::Device;
    arena.free(allocation, ptr, size)?;
    // The free succeeded, so the allocation was live before it, and there is a guard.
    let Some(guard) = guard else { return Ok(()) };
    for device in core.ids() {
        if all || device == owner {
            core.leave_behind(device, || Work::Release(guard.clone()));
        }
    }
    Ok(())
}
