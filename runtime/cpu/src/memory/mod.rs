//! The memory of the devices: budgets, and the registry that every pointer is checked against.
//!
//! Each device has an [`arena::Arena`] for its own memory and one for host memory. Memory comes
//! from the system for each [`allocation::Allocation`] and is returned to it by the free, once
//! the last [`AllocationGuard`] is dropped: an asynchronous copy guards the memory that it
//! touches, and a free queues a guard in every busy stream of the device. So a free never waits,
//! and memory is never returned under work that may still use it.
//!
//! Streams are unknown here, and only `copy` dereferences pointers.

mod allocation;
mod arena;
mod copy;
mod registry;
mod size;
mod system;
mod transfer;

pub(crate) use allocation::{Allocation, AllocationGuard, Owner};
pub(crate) use arena::Arena;
pub use copy::CopyKind;
pub(crate) use copy::{Pattern, RawCopy, RawFill};
pub(crate) use registry::Registry;
pub(crate) use size::GRANULE;
pub(crate) use system::physical_memory;
pub(crate) use transfer::{Fill, Place, Transfer};

use std::fmt;
use tenon::device::DeviceId;

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of one device.
    Device,
    /// Memory of one device that the host and every other device may use as well.
    Unified,
    /// Host memory, locked in place where the system allows it.
    Host,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Unified => "unified",
            Self::Host => "host",
        })
    }
}

/// The memory of a device, in bytes. `used + free == total` at every moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStats {
    /// The budget.
    pub total: usize,
    /// Held by allocations, each rounded up to its block, and by freed memory that queued work
    /// may still use.
    pub used: usize,
    /// Left to allocate.
    pub free: usize,
    /// The highest `used` so far.
    pub peak: usize,
    /// The number of live allocations, those of unified memory included.
    pub allocations: usize,
}

/// Host memory that was allocated through a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStats {
    /// Held by allocations, each rounded up to pages.
    pub used: usize,
    /// Locked in place. Less than `used` where the system's limit on locked memory is reached.
    pub pinned: usize,
    /// The number of live allocations.
    pub allocations: usize,
}

/// The allocation that a pointer lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerInfo {
    /// The kind of memory.
    pub space: Space,
    /// The device that it was allocated on.
    pub device: DeviceId,
    /// The start of the allocation.
    pub base: usize,
    /// The requested size in bytes.
    pub size: usize,
    /// True if it is locked in place. Never true of device memory.
    pub pinned: bool,
}
