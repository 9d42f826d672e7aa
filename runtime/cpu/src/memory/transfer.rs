//! Copies and fills as requested, before their pointers are checked.
//!
//! A graph keeps these instead of checked work, so that every launch checks its pointers again:
//! memory may have been freed since the capture.

use super::allocation::AllocationGuard;
use super::copy::{CopyKind, Pattern, RawCopy, RawFill};
use super::registry::Registry;
use crate::error::Result;
use crate::executor::work::Work;
use tenon::device::DeviceId;

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Host memory.
    Host(usize),
    /// Memory of a device.
    Device { device: DeviceId, ptr: usize },
}

impl Place {
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Host(ptr) | Self::Device { ptr, .. } => ptr,
        }
    }

    fn guard(self, registry: &Registry, size: usize) -> Result<Option<AllocationGuard>> {
        match self {
            Self::Host(ptr) => registry.guard_host(ptr, size),
            Self::Device { device, ptr } => registry.guard_device(device, ptr, size).map(Some),
        }
    }
}

/// A copy.
///
/// The creator of a copy with host memory guarantees that the memory stays valid while the copy,
/// or a graph that holds it, can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) kind: CopyKind,
    pub(crate) dst: Place,
    pub(crate) src: Place,
    pub(crate) size: usize,
}

impl Transfer {
    /// Checks and guards both ends; `None` if there is nothing to copy.
    pub(crate) fn prepare(&self, registry: &Registry) -> Result<Option<Work>> {
        if self.size == 0 {
            return Ok(None);
        }
        let guards = [self.dst.guard(registry, self.size)?, self.src.guard(registry, self.size)?];
        // SAFETY: memory that was allocated here holds the range, and the guards in the work keep
        // it; other host memory is guaranteed by the creator of the transfer.
        let raw = unsafe { RawCopy::new(self.dst.address(), self.src.address(), self.size) };
        Ok(Some(Work::Copy { kind: self.kind, raw, guards }))
    }
}

/// A fill of device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) device: DeviceId,
    pub(crate) ptr: usize,
    pub(crate) pattern: Pattern,
    pub(crate) size: usize,
}

impl Fill {
    /// Checks and guards the memory; `None` if there is nothing to fill.
    pub(crate) fn prepare(&self, registry: &Registry) -> Result<Option<Work>> {
        if self.size == 0 {
            return Ok(None);
        }
        let guard = registry.guard_device(self.device, self.ptr, self.size)?;
        // SAFETY: the allocation holds the range, and the guard in the work keeps it.
        let raw = unsafe { RawFill::new(self.ptr, self.pattern, self.size) };
        Ok(Some(Work::Fill { raw, guard }))
    }
}
