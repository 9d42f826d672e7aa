//! Allocation of device memory and of pinned host memory.

use tenon::support::Mutex;

use tenon::DevicePtr;

use crate::api::{AclError, MemMallocPolicy};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::shared::pages;
use crate::state::State;
use crate::state::blocks::{ALIGNMENT, Block, Place};
use crate::state::device_state::Lease;

/// Allocation lengths are multiples of this number of bytes.
const UNIT: usize = 32;
/// The padding after an allocation in bytes, for kernels that read ahead.
const PADDING: usize = 32;

/// Returns the length of an allocation of `size` bytes.
pub(crate) fn rounded(size: usize, padding: usize) -> Result<usize> {
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    size.checked_next_multiple_of(UNIT)
        .and_then(|size| size.checked_add(padding))
        .filter(|size| *size <= isize::MAX as usize)
        .ok_or_else(|| no_memory(size))
}

#[cold]
fn no_memory(size: usize) -> Error {
    Error::new(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"))
}

/// Allocates device memory on the current device.
pub(crate) fn allocate(
    state: &State,
    size: usize,
    policy: MemMallocPolicy,
    is_padded: bool,
) -> Result<usize> {
    if policy.name().is_none() {
        return unknown_value("policy", policy.0);
    }
    let length = rounded(size, if is_padded { PADDING } else { 0 })?;
    let lease = state.lease_current_device()?;
    // As on Ascend, allocations consist of whole pages. Such pages can be shared with other processes.
    let pages = length.checked_next_multiple_of(pages::size()).filter(|_| lease.memory_is_host);
    let total = pages.unwrap_or(length);
    let block = Block { length, ..allocate_on(lease, size, total, Place::Device)? };
    Ok(state.blocks.insert(block).start)
}

/// Allocates a block of `length` bytes on a device. The block is not yet known to the state.
pub(crate) fn allocate_on(lease: Lease, size: usize, length: usize, place: Place) -> Result<Block> {
    let take = |total: usize| {
        let taken = lease.call(|device, id| device.device_memory_allocate(id, total));
        taken.map(DevicePtr::addr).and_then(|base| if base == 0 { Err(no_memory(size)) } else { Ok(base) })
    };
    let (mut base, mut total) = (take(length)?, length);
    if base % ALIGNMENT != 0 {
        lease.call(|device, id| device.device_memory_deallocate(id, DevicePtr::from_addr(base), total))?;
        total += ALIGNMENT;
        base = take(total)?;
    }
    let start = base.next_multiple_of(ALIGNMENT);
    Ok(Block { start, length, asked: size, place, base, total, lease, file: Mutex::default() })
}

/// Allocates pinned host memory, or pageable memory if the device has no pinned memory.
pub(crate) fn allocate_host(state: &State, size: u64) -> Result<usize> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let length = rounded(size, 0)?;
    let lease = state.lease_current_device()?;
    let (total, asked) = (length.checked_add(ALIGNMENT).ok_or_else(|| no_memory(size))?, size);
    let block = match lease.call_raw(|device, id| device.host_memory_allocate(id, total)) {
        Ok(base) if base.is_null() => return Err(no_memory(size)),
        Ok(base) => {
            let base = base.addr();
            let start = base.next_multiple_of(ALIGNMENT);
            Block { start, length, asked, place: Place::Pinned, base, total, lease, file: Mutex::default() }
        }
        Err(_) => {
            // Copies treat this memory like any other memory of the program.
            let mut bytes = Vec::<u8>::new();
            bytes.try_reserve_exact(total).map_err(|_| no_memory(size))?;
            let base = bytes.as_ptr().expose_provenance();
            let start = base.next_multiple_of(ALIGNMENT);
            let place = Place::Pageable(bytes);
            Block { start, length, asked, place, base, total, lease, file: Mutex::default() }
        }
    };
    let start = block.start;
    state.blocks.insert(block);
    Ok(start)
}

/// Frees device memory, after waiting for the device if `waits` is true.
pub(crate) fn free(state: &State, address: usize, waits: bool) -> Result<()> {
    free_if(state, "dev_ptr", address, waits, |block| {
        matches!(block.place, Place::Device | Place::Managed(_))
    })
}

/// Frees host memory, after waiting for the device if `waits` is true.
pub(crate) fn free_host(state: &State, address: usize, waits: bool) -> Result<()> {
    free_if(state, "host_ptr", address, waits, |block| {
        matches!(block.place, Place::Pinned | Place::Pageable(_))
    })
}

/// Frees the block that begins at an address, if the predicate is true for it.
pub(crate) fn free_if(
    state: &State,
    param: &str,
    address: usize,
    waits: bool,
    predicate: impl Fn(&Block) -> bool,
) -> Result<()> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
    }
    if waits && let Some(block) = state.blocks.find(address) {
        state.synchronize_device(&block.lease.device, None)?;
    }
    match state.blocks.remove_if(address, predicate) {
        Some(block) => {
            if block.is_counted() {
                block.lease.device.usage().memory.0 -= block.length;
            }
            block.release()
        }
        None => Err(state.blocks.unknown_address(param, address)),
    }
}
