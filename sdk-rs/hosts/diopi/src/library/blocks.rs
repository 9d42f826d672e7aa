//! The memory that the host has allocated. The host frees it without passing its size, and copies are checked
//! against it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::MutexGuard;
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::DeviceId;

use super::lifecycle;
use crate::error::{Error, Result, failed, invalid};
use crate::provider::library;
use crate::runtime::DiopiError;

/// A block of device memory.
#[derive(Clone, Copy)]
struct Block {
    size: usize,
    device: DeviceId,
}

/// All blocks, by address.
static BLOCKS: Mutex<BTreeMap<usize, Block>> = Mutex::new(BTreeMap::new());

fn blocks() -> MutexGuard<'static, BTreeMap<usize, Block>> {
    BLOCKS.lock()
}

/// Allocates memory on the current device.
pub(crate) fn allocate(bytes: u64) -> Result<DevicePtr> {
    lifecycle::ready()?;
    // Null would mean that memory is exhausted, so a block of 0 bytes also has an address.
    let size = isize::try_from(bytes).map_or(usize::MAX, isize::unsigned_abs).max(1);
    if size == usize::MAX {
        return Err(out_of_memory(bytes));
    }
    let library = library();
    let device = library.device.get_device().map_err(failed)?;
    let ptr = library.device.device_memory_allocate(device, size).map_err(failed)?;
    if ptr.is_null() {
        return Err(out_of_memory(bytes));
    }
    blocks().insert(ptr.addr(), Block { size, device });
    Ok(ptr)
}

#[cold]
fn out_of_memory(bytes: u64) -> Error {
    Error::new(DiopiError::ERROR_OCCURRED, format!("the device has no {bytes} bytes of memory left"))
}

/// Frees memory, after all work on its device.
pub(crate) fn free(ptr: DevicePtr) -> Result<()> {
    if ptr.is_null() || lifecycle::is_stopped() {
        return Ok(());
    }
    let Some(Block { size, device }) = blocks().remove(&ptr.addr()) else {
        return Err(invalid(format!("`ptr` is {:#x}, which was freed or never allocated", ptr.addr())));
    };
    // A host may drop a tensor while an operator that uses it is still queued.
    let done = library().device.synchronize_device(device);
    done.and(library().device.device_memory_deallocate(device, ptr, size)).map_err(failed)
}

/// Checks that a range is inside its block. Memory allocated elsewhere is left to the device.
pub(crate) fn check(name: &str, ptr: DevicePtr, size: usize) -> Result<()> {
    let blocks = blocks();
    let Some((start, block)) = blocks.range(..=ptr.addr()).next_back() else { return Ok(()) };
    let offset = ptr.addr() - start;
    if offset < block.size && block.size - offset < size {
        let left = block.size - offset;
        return Err(invalid(format!("{size} bytes from `{name}` exceed its memory, which has {left} left")));
    }
    Ok(())
}

/// Checks that all elements of a tensor are inside the block of the first one. `span` has the addresses of their
/// bytes. Memory allocated elsewhere is left to the device.
pub(crate) fn check_span(name: &str, first: usize, span: Range<usize>) -> Result<()> {
    let blocks = blocks();
    let Some((&start, block)) = blocks.range(..=first).next_back() else { return Ok(()) };
    let end = start + block.size;
    if span.is_empty() || first >= end || (start <= span.start && span.end <= end) {
        return Ok(());
    }
    let size = block.size;
    Err(invalid(format!("`{name}` reaches over {} bytes, beyond its memory of {size} bytes", span.len())))
}

/// Forgets all blocks. Called when the device frees them.
pub(crate) fn forget() {
    blocks().clear();
}
