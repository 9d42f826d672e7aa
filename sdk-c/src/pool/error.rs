//! Errors of the pool.

use tenon::DevicePtr;
use tenon::device::Error;

/// An error of the pool. It leaves the pool unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The size cannot be addressed.
    #[error("{size} bytes are more than any block can have")]
    TooLarge {
        /// The requested size in bytes.
        size: usize,
    },
    /// The device has no more memory, even after the pool freed its cached memory.
    #[error("the device has no memory for {size} bytes, even after the pool has freed its cached memory")]
    OutOfMemory {
        /// The requested size in bytes.
        size: usize,
    },
    /// The host has no memory for the metadata of a block.
    #[error("out of host memory for the description of a block")]
    HostMemory,
    /// The address is not from this pool.
    #[error("{ptr:?} is not an address that this pool has returned")]
    Unknown {
        /// The address.
        ptr: DevicePtr,
    },
    /// The address is inside a block, not at its beginning.
    #[error("{ptr:?} is inside of the block at {start:?}, not its beginning")]
    Inside {
        /// The address.
        ptr: DevicePtr,
        /// The beginning of the block.
        start: DevicePtr,
    },
    /// The block is not in use.
    #[error("the block at {ptr:?} is free already")]
    Free {
        /// The address.
        ptr: DevicePtr,
    },
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(#[from] Error),
}
