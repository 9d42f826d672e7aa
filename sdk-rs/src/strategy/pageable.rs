//! Pageable memory in place of pinned memory, for devices without pinned memory.
//!
//! A device without functions for pinned memory treats all host memory as pageable, so its copies are correct.

use crate::support::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::MutexGuard;

use crate::device::{DeviceId, Error, Function, Partial, Result, Status};
use crate::pointer::HostPtr;

/// The alignment of an allocation: that of a cache line, which suits every type of elements.
const ALIGNMENT: usize = 64;

/// An allocation.
#[derive(Debug)]
struct Allocation {
    device: DeviceId,
    size: usize,
    layout: Layout,
}

/// All allocations of the process, by their addresses.
static ALLOCATIONS: Mutex<BTreeMap<usize, Allocation>> = Mutex::new(BTreeMap::new());

/// Returns all allocations. A panic leaves the map as it is, because each access is a single call.
fn allocations() -> MutexGuard<'static, BTreeMap<usize, Allocation>> {
    ALLOCATIONS.lock()
}

/// Allocates pageable host memory. The address is null if there is no memory.
pub fn allocate_pageable(device: &impl Partial, id: DeviceId, size: usize) -> Result<HostPtr> {
    if device.provides(Function::HostMemoryDeallocate) {
        // It would be called with memory that is not its own.
        return Err(Error::new(
            Status::FAILED,
            "this device can free pinned host memory, but not allocate it",
        ));
    }
    let count = device.get_device_count()?;
    if !usize::try_from(id.0).is_ok_and(|id| id < count) {
        return Err(Error::invalid(format!("there is no device {}", id.0)));
    }
    let Ok(layout) = Layout::from_size_align(size.max(1), ALIGNMENT) else { return Ok(HostPtr::NULL) };
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc(layout) };
    if !memory.is_null() {
        allocations().insert(memory.expose_provenance(), Allocation { device: id, size, layout });
    }
    Ok(HostPtr::from_ptr(memory))
}

/// Frees memory of [`allocate_pageable`], after a wait for the device, since queued copies may use the memory.
pub fn free_pageable(device: &impl Partial, id: DeviceId, ptr: HostPtr, size: usize) -> Result<()> {
    if ptr.is_null() {
        return Ok(());
    }
    let allocation = take(id, ptr, size)?;
    if let Err(error) = device.synchronize_device(id) {
        allocations().insert(ptr.addr(), allocation);
        return Err(error);
    }
    // SAFETY: the memory was allocated with this layout, and the entry is no longer in the map.
    unsafe { dealloc(std::ptr::with_exposed_provenance_mut(ptr.addr()), allocation.layout) };
    Ok(())
}

/// Takes an allocation out of the map.
fn take(id: DeviceId, ptr: HostPtr, size: usize) -> Result<Allocation> {
    let mut allocations = allocations();
    match allocations.entry(ptr.addr()) {
        Entry::Occupied(entry) if entry.get().device == id && entry.get().size == size => Ok(entry.remove()),
        _ => Err(Error::invalid(format!(
            "0x{:x} is not pinned host memory of {size} bytes of device {}",
            ptr.addr(),
            id.0
        ))),
    }
}
