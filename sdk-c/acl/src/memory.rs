//! Allocations, on devices and on the host.

use std::sync::Arc;

use tenon::DevicePtr;

use crate::api::{AclError, MemMallocPolicy};
use crate::block::{ALIGNMENT, Block, Place};
use crate::error::{Error, Result, refuse};
use crate::home::Lease;
use crate::info::no_such;
use crate::runtime::Runtime;

/// Lengths are rounded up to a multiple of it.
const UNIT: usize = 32;
/// What is behind an allocation, for kernels that read ahead.
const BEHIND: usize = 32;

/// How long an allocation becomes.
fn rounded(size: usize, behind: usize) -> Result<usize> {
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    size.checked_next_multiple_of(UNIT)
        .and_then(|size| size.checked_add(behind))
        .filter(|size| *size <= isize::MAX as usize)
        .ok_or_else(|| no_memory(size))
}

#[cold]
fn no_memory(size: usize) -> Error {
    Error::new(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"))
}

impl Runtime {
    /// Allocates device memory, with room behind it or without.
    pub(crate) fn allocate(
        &self,
        size: usize,
        policy: MemMallocPolicy,
        has_room_behind: bool,
    ) -> Result<usize> {
        if policy.name().is_none() {
            return no_such("policy", policy.0);
        }
        let length = rounded(size, if has_room_behind { BEHIND } else { 0 })?;
        let lease = self.lease()?;
        let take = |total: usize| {
            let taken = lease.on(|device, id| device.device_memory_allocate(id, total));
            taken
                .map(DevicePtr::addr)
                .and_then(|base| if base == 0 { Err(no_memory(size)) } else { Ok(base) })
        };
        let (mut base, mut total) = (take(length)?, length);
        if base % ALIGNMENT != 0 {
            lease.on(|device, id| device.device_memory_deallocate(id, DevicePtr::from_addr(base), total))?;
            total += ALIGNMENT;
            base = take(total)?;
        }
        let start = base.next_multiple_of(ALIGNMENT);
        self.memory.insert(Block { start, length, asked: size, place: Place::Device, base, total, lease });
        Ok(start)
    }

    /// Allocates host memory that the device reaches.
    pub(crate) fn allocate_host(&self, size: u64) -> Result<usize> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let length = rounded(size, 0)?;
        let lease = self.lease()?;
        let (total, asked) = (length.checked_add(ALIGNMENT).ok_or_else(|| no_memory(size))?, size);
        let block = match lease.ask(|device, id| device.host_memory_allocate(id, total)) {
            Ok(base) if base.is_null() => return Err(no_memory(size)),
            Ok(base) => {
                let base = base.addr();
                let start = base.next_multiple_of(ALIGNMENT);
                Block { start, length, asked, place: Place::Pinned, base, total, lease }
            }
            Err(_) => {
                // Copies from and to it are as from and to any memory of the program's.
                let mut own = Vec::<u8>::new();
                own.try_reserve_exact(total).map_err(|_| no_memory(size))?;
                let base = own.as_ptr().expose_provenance();
                let start = base.next_multiple_of(ALIGNMENT);
                Block { start, length, asked, place: Place::Own(own), base, total, lease }
            }
        };
        let start = block.start;
        self.memory.insert(block);
        Ok(start)
    }

    /// Frees device memory.
    pub(crate) fn free(&self, address: usize, waits: bool) -> Result<()> {
        self.free_one("dev_ptr", address, waits, |block| {
            matches!(block.place, Place::Device | Place::Managed(_))
        })
    }

    /// Frees host memory.
    pub(crate) fn free_host(&self, address: usize, waits: bool) -> Result<()> {
        self.free_one("host_ptr", address, waits, |block| {
            matches!(block.place, Place::Pinned | Place::Own(_))
        })
    }

    fn free_one(
        &self,
        param: &str,
        address: usize,
        waits: bool,
        is_one: impl Fn(&Block) -> bool,
    ) -> Result<()> {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
        if waits && let Some(block) = self.memory.find(address) {
            self.finish_device(&block.lease.home, None)?;
        }
        match self.memory.take(address, is_one) {
            Some(block) => {
                if block.is_device() {
                    block.lease.home.state().memory.0 -= block.length;
                }
                block.release()
            }
            None => Err(self.no_such(param, address)),
        }
    }

    #[cold]
    pub(crate) fn no_such(&self, param: &str, address: usize) -> Error {
        let what = match self.memory.find(address) {
            None => "is freed or was never allocated here".to_owned(),
            Some(block) if block.start != address => {
                format!("lies {} bytes inside an allocation", address - block.start)
            }
            Some(block) => match block.place {
                Place::Device | Place::Managed(_) => "is device memory, which `aclrtFree` frees".to_owned(),
                Place::Mapped => "is mapped memory, which `aclrtUnmapMem` takes away".to_owned(),
                Place::Pinned | Place::Own(_) => "is host memory, which `aclrtFreeHost` frees".to_owned(),
                Place::Registered { .. } => {
                    "is registered memory of the program's, which `aclrtHostUnregister` gives back".to_owned()
                }
            },
        };
        Error::new(AclError::RT_PARAM_INVALID, format!("`{param}` is {address:#x}, which {what}"))
    }

    /// Frees these pieces of device memory, as far as they are still there.
    pub(crate) fn free_all(&self, blocks: Vec<Arc<Block>>) {
        for block in blocks {
            // Another thread may be quicker; a device that does not take it back tells nobody.
            let _ = match block.is_mapped() {
                true => self.unmap_one(block.start, |known| std::ptr::eq(known, &*block)),
                false => self.free_one("dev_ptr", block.start, false, |known| std::ptr::eq(known, &*block)),
            };
        }
    }

    /// The device of the current context.
    pub(crate) fn lease(&self) -> Result<Lease> {
        let context = self.context()?;
        context.lease.home.lease(&*self.devices)
    }
}
