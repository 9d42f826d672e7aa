//! Pinned memory for the data of operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenon::device::{Device, DeviceId, Function, Partial, Result, Stream, WithFallbacks};
use tenon::support::Mutex;
use tenon::{DevicePtr, HostPtr};

use crate::operation::{Operation, Use};

/// The alignment of each buffer in a block, which every type and every copy is content with.
const ALIGNMENT: usize = 64;
/// The smallest block. Blocks are powers of two, so that operations of similar sizes share them.
const SMALLEST: usize = 4096;

/// The pinned memory of a communicator.
pub(super) struct Staging {
    pub(super) device: WithFallbacks<&'static dyn Partial>,
    pub(super) id: DeviceId,
    blocks: Mutex<Vec<Arc<Block>>>,
    failure: Mutex<Option<String>>,
}

struct Block {
    address: HostPtr,
    size: usize,
    is_used: AtomicBool,
}

/// The data of an operation in pinned memory.
pub(super) struct Staged {
    block: Arc<Block>,
    pub(super) stream: Stream,
    places: Vec<Place>,
    /// True if copies may still use the block although nothing will say when they are done.
    is_lost: bool,
}

/// A buffer of an operation, on the device and in pinned memory.
pub(super) struct Place {
    pub(super) device: DevicePtr,
    pub(super) host: HostPtr,
    pub(super) bytes: usize,
    pub(super) is_read: bool,
    pub(super) is_written: bool,
}

impl Staging {
    pub(super) fn new(device: &'static dyn Partial, id: DeviceId) -> Self {
        Self { device: WithFallbacks(device), id, blocks: Mutex::default(), failure: Mutex::default() }
    }

    /// Returns true if the device has no callbacks, so that the caller waits for each operation.
    pub(super) fn waits(&self) -> bool {
        !self.device.provides(Function::StreamAddCallback)
    }

    /// Returns the reason why an operation failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Notes that an operation failed: not every device tells the host what a callback reports.
    pub(super) fn fail(&self, reason: String) {
        self.failure.lock().get_or_insert(reason);
    }

    /// Reserves pinned memory for the buffers of an operation.
    pub(super) fn stage(
        &self,
        stream: Stream,
        operation: &Operation,
        [rank, size]: [usize; 2],
    ) -> Result<Staged> {
        let mut places = Vec::new();
        let mut total = 0_usize;
        for Use { buffer, is_read, is_written } in operation.uses(rank, size) {
            let bytes = buffer.bytes()?;
            places.push((total, bytes, buffer.data, is_read, is_written));
            let end = total.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
            total =
                end.ok_or_else(|| tenon::device::Error::invalid("the buffers are more than memory has"))?;
        }
        let block = self.block(total)?;
        let place = |(offset, bytes, device, is_read, is_written)| Place {
            device,
            host: HostPtr::from_addr(block.address.addr() + offset),
            bytes,
            is_read,
            is_written,
        };
        let places = places.into_iter().map(place).collect();
        Ok(Staged { block, stream, places, is_lost: false })
    }

    /// Frees the pinned memory, after the work that uses it.
    pub(super) fn free(&self) -> Result<()> {
        let blocks = std::mem::take(&mut *self.blocks.lock());
        if blocks.iter().any(|block| block.is_used.load(Ordering::Acquire)) {
            // If the device cannot say when its copies are done, the memory is given up.
            self.device.synchronize_device(self.id)?;
        }
        blocks
            .iter()
            .try_for_each(|block| self.device.host_memory_deallocate(self.id, block.address, block.size))
    }

    /// Returns a block of at least this size that nothing uses.
    fn block(&self, size: usize) -> Result<Arc<Block>> {
        let take = |block: &&Arc<Block>| block.size >= size && !block.is_used.swap(true, Ordering::AcqRel);
        let mut blocks = self.blocks.lock();
        if let Some(block) = blocks.iter().find(take) {
            return Ok(block.clone());
        }
        let size = size.checked_next_power_of_two().unwrap_or(size).max(SMALLEST);
        let address = self.device.host_memory_allocate(self.id, size)?;
        if address.is_null() {
            let message = format!("there is no pinned memory for {size} bytes");
            return Err(tenon::device::Error::new(tenon::device::Status::FAILED, message));
        }
        let block = Arc::new(Block { address, size, is_used: AtomicBool::new(true) });
        blocks.push(block.clone());
        blocks.sort_by_key(|block| block.size);
        Ok(block)
    }
}

impl Staged {
    /// Returns the operation on the pinned memory.
    pub(super) fn moved(&self, operation: &Operation) -> Operation {
        let hosts: Vec<DevicePtr> =
            self.places.iter().map(|place| DevicePtr::from_addr(place.host.addr())).collect();
        operation.moved(&hosts)
    }

    /// Returns the buffers that are copied to the host before the operation.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.is_read && place.bytes > 0)
    }

    /// Returns the buffers that are copied to the device after it.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.is_written && place.bytes > 0)
    }

    /// Gives the block up: copies that are queued may use it at any time.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_lost {
            self.block.is_used.store(false, Ordering::Release);
        }
    }
}
