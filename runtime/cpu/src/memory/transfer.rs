//! Copies and fills as they are asked for, before their pointers are checked.
//!
//! A graph keeps these rather than checked work, so that every launch checks anew: memory may
//! have been freed since the capture.

use super::block::Pin;
use super::copy::{RawCopy, RawFill};
use super::registry::Registry;
use crate::error::Result;
use crate::executor::work::{CopyKind, Work};

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Host memory.
    Host(usize),
    /// Memory of a device.
    Device { device: usize, ptr: usize },
}

impl Place {
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Host(ptr) | Self::Device { ptr, .. } => ptr,
        }
    }

    /// The same kind of place at another address.
    pub(crate) fn at(self, ptr: usize) -> Self {
        match self {
            Self::Host(_) => Self::Host(ptr),
            Self::Device { device, .. } => Self::Device { device, ptr },
        }
    }

    fn pin(self, registry: &Registry, size: usize) -> Result<Option<Pin>> {
        match self {
            Self::Host(ptr) => registry.pin_host(ptr, size),
            Self::Device { device, ptr } => registry.pin_device(device, ptr, size).map(Some),
        }
    }
}

/// A copy.
///
/// Whoever makes one with a place in host memory vouches for that memory for as long as the
/// copy, or a graph that holds it, can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) kind: CopyKind,
    pub(crate) dst: Place,
    pub(crate) src: Place,
    pub(crate) size: usize,
}

impl Transfer {
    /// Checks and pins both ends; none if there is nothing to copy.
    pub(crate) fn prepare(&self, registry: &Registry) -> Result<Option<Work>> {
        if self.size == 0 {
            return Ok(None);
        }
        let pins = [self.dst.pin(registry, self.size)?, self.src.pin(registry, self.size)?];
        // SAFETY: memory that was allocated here holds the range, and the pins in the work keep
        // it; for other host memory the maker of the transfer vouches.
        let raw = unsafe { RawCopy::new(self.dst.address(), self.src.address(), self.size) };
        Ok(Some(Work::Copy { kind: self.kind, raw, pins }))
    }
}

/// A fill of device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) device: usize,
    pub(crate) ptr: usize,
    pub(crate) value: u8,
    pub(crate) size: usize,
}

impl Fill {
    /// Checks and pins the memory; none if there is nothing to fill.
    pub(crate) fn prepare(&self, registry: &Registry) -> Result<Option<Work>> {
        if self.size == 0 {
            return Ok(None);
        }
        let pin = registry.pin_device(self.device, self.ptr, self.size)?;
        // SAFETY: the allocation holds the range, and the pin in the work keeps it.
        let raw = unsafe { RawFill::new(self.ptr, self.value, self.size) };
        Ok(Some(Work::Fill { raw, pin: Some(pin) }))
    }
}
