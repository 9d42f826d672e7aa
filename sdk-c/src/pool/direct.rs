//! Memory without a pool, for the validation layer: each block is a device allocation of the requested size, and is
//! freed at once. So the layer sees every block, and finds errors that a pool hides: an access past the end, a use
//! after free, a leak.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Stream};

use super::{PoolError, PoolStatistics};

/// Allocations of one device.
pub struct Direct {
    device: Arc<dyn Device>,
    id: DeviceId,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    /// The blocks in use: address and size.
    used: BTreeMap<usize, usize>,
    /// Addresses of freed blocks that the device has not returned again.
    freed: BTreeSet<usize>,
    /// Freed blocks that the device has failed to free.
    waiting: Vec<(DevicePtr, usize)>,
    in_use: usize,
    peak: usize,
    allocations: u64,
}

impl Direct {
    pub fn new(device: Arc<dyn Device>, id: DeviceId) -> Self {
        Direct { device, id, blocks: Mutex::default() }
    }

    /// Allocates a block, as [`Pool::allocate`](super::Pool::allocate) does.
    pub fn allocate(&self, size: usize) -> Result<DevicePtr, PoolError> {
        // A block of no bytes also needs a distinct address.
        let bytes = size.max(1);
        let ptr = self.device.device_memory_allocate(self.id, bytes)?;
        // A device without memory may return success and a null address.
        if ptr.is_null() {
            return Err(PoolError::OutOfMemory { size });
        }
        let mut blocks = self.lock();
        blocks.freed.remove(&ptr.addr());
        blocks.used.insert(ptr.addr(), bytes);
        blocks.in_use += bytes;
        blocks.peak = blocks.peak.max(blocks.in_use);
        blocks.allocations += 1;
        Ok(ptr)
    }

    /// Frees a block, as [`Pool::free`](super::Pool::free) does, but waits for the stream, because the device frees at
    /// once.
    pub fn free(&self, ptr: DevicePtr, stream: Stream) -> Result<(), PoolError> {
        if ptr.is_null() {
            return Ok(());
        }
        let bytes = self.take(ptr)?;
        // As with a pool, freeing succeeds: if the device fails, a later call tries again.
        let waited = self.device.synchronize_stream(self.id, stream);
        if waited.and_then(|()| self.device.device_memory_deallocate(self.id, ptr, bytes)).is_err() {
            self.lock().waiting.push((ptr, bytes));
        }
        Ok(())
    }

    /// Frees the blocks that the device failed to free before.
    pub fn trim(&self) -> Result<usize, PoolError> {
        let waiting = std::mem::take(&mut self.lock().waiting);
        let (mut given, mut refused) = (0, None);
        for (ptr, bytes) in waiting {
            match self.device.device_memory_deallocate(self.id, ptr, bytes) {
                Ok(()) => given += bytes,
                Err(error) => {
                    self.lock().waiting.push((ptr, bytes));
                    refused = Some(error);
                }
            }
        }
        refused.map_or(Ok(given), |error| Err(PoolError::Device(error)))
    }

    /// Returns true if a block in use begins at an address.
    pub fn is_block(&self, ptr: DevicePtr) -> bool {
        self.lock().used.contains_key(&ptr.addr())
    }

    fn take(&self, ptr: DevicePtr) -> Result<usize, PoolError> {
        let mut blocks = self.lock();
        let Some(bytes) = blocks.used.remove(&ptr.addr()) else {
            if blocks.freed.contains(&ptr.addr()) {
                return Err(PoolError::Free { ptr });
            }
            let before = blocks.used.range(..ptr.addr()).next_back();
            return Err(match before.filter(|(start, bytes)| ptr.addr() - *start < **bytes) {
                Some((start, _)) => PoolError::Inside { ptr, start: DevicePtr::from_addr(*start) },
                None => PoolError::Unknown { ptr },
            });
        };
        blocks.freed.insert(ptr.addr());
        blocks.in_use -= bytes;
        Ok(bytes)
    }

    /// Returns figures of the pool, as [`Pool::statistics`](super::Pool::statistics) does.
    pub fn statistics(&self) -> PoolStatistics {
        let blocks = self.lock();
        let cached = blocks.waiting.iter().map(|(_, bytes)| bytes).sum::<usize>();
        PoolStatistics {
            in_use: blocks.in_use,
            cached,
            peak: blocks.peak,
            from_device: blocks.in_use + cached,
            misses: blocks.allocations,
            ..PoolStatistics::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        // A panic cannot leave inconsistent state: no foreign code runs under the lock.
        self.blocks.lock()
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // Blocks in use are not freed, so that the validation layer reports them.
        let _ = self.trim();
    }
}
