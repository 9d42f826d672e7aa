//! Allocates memory for programs: from the pool of a device, or from the device itself.

use std::sync::Arc;

use tenon::DevicePtr;
use tenon::device::{Device, DeviceId, Stream};

use super::direct::Direct;
use super::{Pool, PoolError, PoolStatistics};

/// The allocator of one device.
pub enum Allocator {
    /// Freed blocks are cached and reused.
    Pooled(Box<Pool>),
    /// Each block is an allocation of the device, so that the validation layer sees it.
    Direct(Direct),
}

impl Allocator {
    /// Creates the allocator of a device.
    ///
    /// # Errors
    /// The errors of [`Pool::new`].
    pub fn new(device: Arc<dyn Device>, id: DeviceId, is_validated: bool) -> Result<Self, PoolError> {
        if is_validated {
            Ok(Self::Direct(Direct::new(device, id)))
        } else {
            Pool::new(device, id).map(|pool| Self::Pooled(Box::new(pool)))
        }
    }

    /// Allocates a block, as [`Pool::allocate`] does.
    pub fn allocate(&self, size: usize, stream: Stream) -> Result<DevicePtr, PoolError> {
        match self {
            Self::Pooled(pool) => pool.allocate(size, stream),
            Self::Direct(direct) => direct.allocate(size),
        }
    }

    /// Frees a block, as [`Pool::free`] does.
    pub fn free(&self, ptr: DevicePtr, stream: Stream) -> Result<(), PoolError> {
        match self {
            Self::Pooled(pool) => pool.free(ptr, stream),
            Self::Direct(direct) => direct.free(ptr, stream),
        }
    }

    /// Returns true if each block is a device allocation, which the program could free by mistake with the device.
    pub fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// Returns true if the address is the start of a block that is a device allocation.
    pub fn is_block(&self, ptr: DevicePtr) -> bool {
        match self {
            Self::Pooled(_) => false,
            Self::Direct(direct) => direct.is_block(ptr),
        }
    }

    /// Retires blocks, as [`Pool::retire`] does.
    pub fn retire(&self, stream: Stream) {
        if let Self::Pooled(pool) = self {
            pool.retire(stream);
        }
    }

    /// Trims the pool, as [`Pool::trim`] does.
    pub fn trim(&self, keep: usize) -> Result<usize, PoolError> {
        match self {
            Self::Pooled(pool) => pool.trim(keep),
            Self::Direct(direct) => direct.trim(),
        }
    }

    /// Returns figures of the pool, as [`Pool::statistics`] does.
    pub fn statistics(&self) -> PoolStatistics {
        match self {
            Self::Pooled(pool) => pool.statistics(),
            Self::Direct(direct) => direct.statistics(),
        }
    }
}
