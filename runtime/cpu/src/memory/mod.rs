//! The memory of the devices: budgets, caches, and the registry that every pointer is checked
//! against.
//!
//! Each allocation is a [`block::Block`] of an [`arena::Arena`], one for each device and kind of
//! memory. A block that is freed goes back to its arena's cache, but only once no queued work
//! *pins* it: an asynchronous copy pins what it touches, and a free leaves a pin behind in
//! every busy stream of the device. So a free never waits, and memory is never handed out
//! again under work that may still use it.
//!
//! No streams here; and no pointer is dereferenced but in `copy`.

mod arena;
mod block;
mod cache;
mod copy;
mod registry;
mod size;
mod system;
mod transfer;

pub(crate) use arena::Arena;
pub(crate) use block::{Block, Pin};
pub(crate) use copy::{RawCopy, RawFill};
pub(crate) use registry::Registry;
pub(crate) use size::GRANULE;
pub(crate) use system::physical_memory;
pub(crate) use transfer::{Fill, Place, Transfer};

use std::fmt;

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
    /// Held by allocations, each rounded up to its block, and by freed blocks that queued work
    /// may still use.
    pub used: usize,
    /// What can still be allocated.
    pub free: usize,
    /// The part of `free` that is kept ready in the cache.
    pub cached: usize,
    /// The most that was ever used.
    pub peak: usize,
    /// The number of live allocations, those of unified memory included.
    pub allocations: usize,
}

/// Host memory that was allocated through a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStats {
    /// Held by allocations, each rounded up to pages.
    pub used: usize,
    /// Locked in place, the cache included. Less than `used` where the system's limit on
    /// locked memory is reached.
    pub pinned: usize,
    /// Kept ready in the cache.
    pub cached: usize,
    /// The number of live allocations.
    pub allocations: usize,
}

/// What is known of the allocation that a pointer lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerInfo {
    /// The kind of memory.
    pub space: Space,
    /// The device that it was allocated on.
    pub device: usize,
    /// Where the allocation starts.
    pub base: usize,
    /// The size asked for, in bytes.
    pub size: usize,
    /// Whether it is locked in place. Never true of device memory.
    pub pinned: bool,
}
