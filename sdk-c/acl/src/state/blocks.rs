//! Memory blocks: allocations and registered memory, by address. They are used to check ranges and kinds of memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use tenon::support::{Mutex, RwLock};

use tenon::{DevicePtr, HostPtr, UnifiedPtr};

use super::advice::Advice;
use super::device_state::{DeviceState, Lease};
use crate::api::AclError;
use crate::error::{Error, Result, refuse};
use crate::shared::file::SharedFile;
use crate::shared::pages::{self, Mapping};

/// The alignment of allocations, in bytes.
pub(crate) const ALIGNMENT: usize = 64;

/// The kind of memory of a block.
#[derive(Debug)]
pub(crate) enum Place {
    /// Device memory.
    Device,
    /// Device memory of a pool.
    Pooled,
    /// Device memory, mapped at addresses that the program has reserved.
    Mapped,
    /// Device memory of another process, which this process has imported.
    Imported(#[expect(dead_code, reason = "it is unmapped with the block")] Mapping),
    /// Managed memory, which the device and the host access at the same address.
    Managed(Advice),
    /// Pinned host memory, allocated by the device.
    Pinned,
    /// Pageable host memory, for devices without pinned memory.
    Pageable(#[expect(dead_code, reason = "it is freed with the block")] Vec<u8>),
    /// Host memory that the program has registered.
    Registered { is_mapped: bool },
}

/// A block of memory.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// The number of usable bytes.
    pub(crate) length: usize,
    /// The requested size in bytes.
    pub(crate) asked: usize,
    pub(crate) place: Place,
    /// The address and length of the device's allocation, needed to free it.
    pub(crate) base: usize,
    pub(crate) total: usize,
    pub(crate) lease: Lease,
    /// The file with the memory, from when it is shared with other processes.
    pub(crate) file: Mutex<Option<Arc<SharedFile>>>,
}

impl Block {
    /// Returns a block for memory that is mapped at reserved addresses.
    pub(crate) fn mapped(start: usize, length: usize, lease: Lease) -> Self {
        Self::at(start, length, Place::Mapped, lease)
    }

    /// Returns a block for memory of another process.
    pub(crate) fn imported(start: usize, length: usize, mapping: Mapping, lease: Lease) -> Self {
        Self::at(start, length, Place::Imported(mapping), lease)
    }

    /// Returns a block for memory that the device has not allocated.
    pub(crate) fn at(start: usize, length: usize, place: Place, lease: Lease) -> Self {
        let file = Mutex::default();
        Block { start, length, asked: length, place, base: start, total: length, lease, file }
    }

    pub(crate) fn is_device(&self) -> bool {
        self.is_counted() || matches!(self.place, Place::Mapped | Place::Imported(_))
    }

    /// Returns true for device memory that the program has allocated.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self.place, Place::Device | Place::Pooled | Place::Managed(_))
    }

    /// Returns true for device memory that the host can access too.
    pub(crate) fn is_host_accessible(&self) -> bool {
        matches!(self.place, Place::Mapped | Place::Imported(_) | Place::Managed(_))
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.place, Place::Mapped)
    }

    fn end(&self) -> usize {
        self.start + self.length
    }

    /// Moves device memory to a file that other processes can map. Its address stays the same.
    fn share(&self) -> Result<Arc<SharedFile>> {
        let page = pages::size();
        if !matches!(self.place, Place::Device)
            || !self.base.is_multiple_of(page)
            || !self.total.is_multiple_of(page)
        {
            let message = "only memory of `aclrtMalloc` and mapped physical memory can be shared, and only that of the CPU device";
            return refuse(AclError::RT_FEATURE_NOT_SUPPORT, message);
        }
        let mut file = self.file.lock();
        if let Some(file) = &*file {
            return Ok(file.clone());
        }
        // SAFETY: the pages contain this block alone. Streams do not write to it, since the caller has synchronised the
        // device.
        let shared = Arc::new(unsafe { pages::share(self.base, self.total) }?);
        Ok(file.insert(shared).clone())
    }

    /// Deallocates the memory.
    pub(crate) fn release(&self) -> Result<()> {
        if let Some(file) = self.file.lock().take() {
            file.withdraw()?;
            // The next owner of the pages must not share them. If this fails, nobody gets them.
            // SAFETY: as in `share`; the block is not known any more.
            unsafe { pages::unshare(self.base, self.total) }?;
        }
        match self.place {
            Place::Device | Place::Pooled => self.lease.call(|device, id| {
                device.device_memory_deallocate(id, DevicePtr::from_addr(self.base), self.total)
            }),
            Place::Managed(_) => self.lease.call(|device, id| {
                device.unified_memory_deallocate(id, UnifiedPtr::from_addr(self.base), self.total)
            }),
            Place::Pinned => self.lease.call(|device, id| {
                device.host_memory_deallocate(id, HostPtr::from_addr(self.base), self.total)
            }),
            Place::Mapped | Place::Imported(_) | Place::Pageable(_) | Place::Registered { .. } => Ok(()),
        }
    }
}

/// All blocks by their first address.
#[derive(Default)]
pub(crate) struct Blocks(RwLock<BTreeMap<usize, Arc<Block>>>);

impl Blocks {
    /// Returns the block that contains an address.
    pub(crate) fn find(&self, address: usize) -> Option<Arc<Block>> {
        let blocks = self.0.read();
        let (_, block) = blocks.range(..=address).next_back()?;
        (address < block.end()).then(|| block.clone())
    }

    /// Returns all blocks.
    pub(crate) fn all(&self) -> Vec<Arc<Block>> {
        self.0.read().values().cloned().collect()
    }

    /// Returns the device memory blocks of a device.
    pub(crate) fn on_device(&self, device: &Arc<DeviceState>) -> Vec<Arc<Block>> {
        let mut blocks = self.all();
        blocks.retain(|block| block.is_device() && Arc::ptr_eq(&block.lease.device, device));
        blocks
    }

    /// Returns true if the block at an address is still this one.
    pub(crate) fn contains(&self, address: usize, block: &Weak<Block>) -> bool {
        let blocks = self.0.read();
        let known = blocks.range(..=address).next_back();
        known.is_some_and(|(_, known)| Arc::as_ptr(known) == block.as_ptr())
    }

    /// Moves a block of device memory to a file that other processes can map, unless it was freed.
    pub(crate) fn share(&self, block: &Arc<Block>) -> Result<Arc<SharedFile>> {
        // While the lock is held, no other thread frees the block.
        let blocks = self.0.read();
        match blocks.get(&block.start) {
            Some(known) if Arc::ptr_eq(known, block) => block.share(),
            _ => refuse(AclError::RT_PARAM_INVALID, "the memory was freed by another thread"),
        }
    }

    /// Returns the error for an address that is not the start of a block of the required kind.
    #[cold]
    pub(crate) fn unknown_address(&self, param: &str, address: usize) -> Error {
        let what = match self.find(address) {
            None => "was freed or never allocated".to_owned(),
            Some(block) if block.start != address => {
                format!("is {} bytes inside an allocation", address - block.start)
            }
            Some(block) => match block.place {
                Place::Device | Place::Managed(_) => "is device memory, which `aclrtFree` frees".to_owned(),
                Place::Pooled => "is memory of a pool, which `aclrtMemPoolFreeAsync` frees".to_owned(),
                Place::Mapped => "is mapped memory, which `aclrtUnmapMem` unmaps".to_owned(),
                Place::Imported(_) => {
                    "is memory of another process, which `aclrtIpcMemClose` closes".to_owned()
                }
                Place::Pinned | Place::Pageable(_) => {
                    "is host memory, which `aclrtFreeHost` frees".to_owned()
                }
                Place::Registered { .. } => {
                    "is registered memory of the program, which `aclrtHostUnregister` releases".to_owned()
                }
            },
        };
        Error::new(AclError::RT_PARAM_INVALID, format!("`{param}` is {address:#x}, which {what}"))
    }

    /// Finds the block of device memory that contains a range.
    pub(crate) fn device_range(&self, param: &str, address: usize, size: usize) -> Result<Arc<Block>> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
        match self.find(address) {
            Some(block) if block.is_device() => expect_fits(param, &block, address, size).map(|()| block),
            _ => Err(self.unknown_address(param, address)),
        }
    }

    /// Inserts a block, and counts device memory.
    pub(crate) fn insert(&self, block: Block) -> Arc<Block> {
        if block.is_counted() {
            let (used, peak) = &mut block.lease.device.usage().memory;
            *used += block.length;
            *peak = (*peak).max(*used);
        }
        let block = Arc::new(block);
        self.0.write().insert(block.start, block.clone());
        block
    }

    /// Inserts a block, unless it overlaps another. If so, returns the block.
    pub(crate) fn insert_disjoint(&self, block: Block) -> Result<(), Block> {
        let mut blocks = self.0.write();
        let before = blocks.range(..block.end()).next_back();
        if before.is_some_and(|(_, known)| known.end() > block.start) {
            return Err(block);
        }
        blocks.insert(block.start, Arc::new(block));
        Ok(())
    }

    /// Removes the block that begins at an address, if the predicate is true for it.
    pub(crate) fn remove_if(
        &self,
        address: usize,
        predicate: impl FnOnce(&Block) -> bool,
    ) -> Option<Arc<Block>> {
        let mut blocks = self.0.write();
        blocks.get(&address).is_some_and(|block| predicate(block)).then(|| blocks.remove(&address)).flatten()
    }
}

/// Checks that a range which begins inside a block also ends inside it.
pub(crate) fn expect_fits(param: &str, block: &Block, address: usize, size: usize) -> Result<()> {
    let left = block.end() - address;
    if size > left {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("{size} bytes from `{param}` exceed its allocation, which has {left} left"),
        );
    }
    Ok(())
}
