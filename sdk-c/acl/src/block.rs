//! Every piece of memory that is known, by its address, so that lengths and kinds can be checked.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use tenon::{DevicePtr, HostPtr, UnifiedPtr};

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::home::{Home, Lease};
use crate::managed::Advice;

/// Addresses of allocations are multiples of it.
pub(crate) const ALIGNMENT: usize = 64;

/// What memory is.
#[derive(Debug)]
pub(crate) enum Place {
    /// The device's.
    Device,
    /// The device's, behind addresses that the program has reserved.
    Mapped,
    /// The device's and the host's, at one address.
    Managed(Advice),
    /// Host memory that the device gave.
    Pinned,
    /// Host memory of our own, where the device has none to give.
    Own(#[expect(dead_code, reason = "it is here to be freed with the block")] Vec<u8>),
    /// Host memory of the program's; whether the device has an address for it.
    Registered { is_mapped: bool },
}

/// A piece of memory that is known.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// How much of it may be used.
    pub(crate) length: usize,
    /// How much of it the program asked for.
    pub(crate) asked: usize,
    pub(crate) place: Place,
    /// What the device gave for it.
    pub(crate) base: usize,
    pub(crate) total: usize,
    pub(crate) lease: Lease,
}

impl Block {
    /// Memory that was put behind addresses of the program's.
    pub(crate) fn mapped(start: usize, length: usize, lease: Lease) -> Self {
        Block { start, length, asked: length, place: Place::Mapped, base: start, total: length, lease }
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self.place, Place::Device | Place::Mapped | Place::Managed(_))
    }

    /// Whether it is device memory that the host uses as well.
    pub(crate) fn is_the_hosts_too(&self) -> bool {
        matches!(self.place, Place::Mapped | Place::Managed(_))
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.place, Place::Mapped)
    }

    fn end(&self) -> usize {
        self.start + self.length
    }

    /// Gives the memory back to where it came from.
    pub(crate) fn release(&self) -> Result<()> {
        match self.place {
            Place::Device => self.lease.on(|device, id| {
                device.device_memory_deallocate(id, DevicePtr::from_addr(self.base), self.total)
            }),
            Place::Managed(_) => self.lease.on(|device, id| {
                device.unified_memory_deallocate(id, UnifiedPtr::from_addr(self.base), self.total)
            }),
            Place::Pinned => self.lease.on(|device, id| {
                device.host_memory_deallocate(id, HostPtr::from_addr(self.base), self.total)
            }),
            Place::Mapped | Place::Own(_) | Place::Registered { .. } => Ok(()),
        }
    }
}

/// All memory that is known, by its start.
#[derive(Default)]
pub(crate) struct Memory(RwLock<BTreeMap<usize, Arc<Block>>>);

impl Memory {
    /// The piece that an address lies in.
    pub(crate) fn find(&self, address: usize) -> Option<Arc<Block>> {
        let blocks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (_, block) = blocks.range(..=address).next_back()?;
        (address < block.end()).then(|| block.clone())
    }

    /// All pieces.
    pub(crate) fn all(&self) -> Vec<Arc<Block>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// All device memory of a device.
    pub(crate) fn of(&self, home: &Arc<Home>) -> Vec<Arc<Block>> {
        let mut blocks = self.all();
        blocks.retain(|block| block.is_device() && Arc::ptr_eq(&block.lease.home, home));
        blocks
    }

    /// Whether this very piece is still where an address lies, and not another one.
    pub(crate) fn has(&self, address: usize, block: &Weak<Block>) -> bool {
        let blocks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = blocks.range(..=address).next_back();
        known.is_some_and(|(_, known)| Arc::as_ptr(known) == block.as_ptr())
    }

    pub(crate) fn insert(&self, block: Block) {
        if block.is_device() {
            let (used, peak) = &mut block.lease.home.state().memory;
            *used += block.length;
            *peak = (*peak).max(*used);
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(block.start, Arc::new(block));
    }

    /// The same, unless something is there already.
    pub(crate) fn insert_apart(&self, block: Block) -> Result<(), Block> {
        let mut blocks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = blocks.range(..block.end()).next_back();
        if before.is_some_and(|(_, known)| known.end() > block.start) {
            return Err(block);
        }
        blocks.insert(block.start, Arc::new(block));
        Ok(())
    }

    /// Takes away the piece that begins at an address, if it is one of these.
    pub(crate) fn take(&self, address: usize, is_one: impl FnOnce(&Block) -> bool) -> Option<Arc<Block>> {
        let mut blocks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        blocks.get(&address).is_some_and(|block| is_one(block)).then(|| blocks.remove(&address)).flatten()
    }
}

/// Whether a range that begins inside a piece also ends there.
pub(crate) fn fits(param: &str, block: &Block, address: usize, size: usize) -> Result<()> {
    let left = block.end() - address;
    if size > left {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!(
                "{size} bytes from `{param}` reach past the end of its allocation, which has {left} left"
            ),
        );
    }
    Ok(())
}
