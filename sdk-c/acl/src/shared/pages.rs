//! System calls for address ranges and mappings.

use std::mem;

use tenon::HostPtr;

use super::file::{SharedFile, failed};
use crate::api::{AclError, MemAccessFlags};
use crate::error::{Result, refuse};

/// Returns the page size of the machine in bytes, a power of two.
pub(crate) fn size() -> usize {
    // SAFETY: it has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The access to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Nothing,
    Read,
    ReadWrite,
}

impl Access {
    pub(crate) fn of(flags: MemAccessFlags) -> Result<Self> {
        Ok(match flags {
            MemAccessFlags::NONE => Access::Nothing,
            MemAccessFlags::READ => Access::Read,
            MemAccessFlags::READWRITE => Access::ReadWrite,
            _ => {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!("`flags` is {flags:?}, which is not a valid access"),
                );
            }
        })
    }

    pub(crate) fn flags(self) -> u64 {
        match self {
            Access::Nothing => 0,
            Access::Read => 1,
            Access::ReadWrite => 3,
        }
    }

    fn protection(self) -> i32 {
        match self {
            Access::Nothing => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// Reserved addresses, which are released on drop.
pub(crate) struct Range {
    start: usize,
    size: usize,
}

impl Range {
    /// Reserves addresses, at the hint if they are free.
    pub(crate) fn reserve(size: usize, hint: usize) -> Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let hint = HostPtr::from_addr(hint).as_ptr();
        // SAFETY: without MAP_FIXED, the system chooses free addresses.
        let start = unsafe { libc::mmap(hint, size, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(failed(
                AclError::RT_MEMORY_ALLOCATION,
                &format!("reserve {size} bytes of addresses"),
            ));
        }
        Ok(Range { start: start.expose_provenance(), size })
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.size
    }

    fn holds(&self, address: usize, size: usize) -> bool {
        address.is_multiple_of(self::size())
            && address >= self.start
            && address.checked_add(size).is_some_and(|end| end <= self.end())
    }

    /// Maps a whole file at addresses of the range.
    pub(crate) fn map(&self, address: usize, file: &SharedFile) -> Result<()> {
        let protection = Access::ReadWrite.protection();
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        self.replace(address, file.size(), protection, flags, file.descriptor())
    }

    /// Unmaps addresses of the range, which stay reserved.
    pub(crate) fn unmap(&self, address: usize, size: usize) -> Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        self.replace(address, size, libc::PROT_NONE, flags, -1)
    }

    fn replace(
        &self,
        address: usize,
        size: usize,
        protection: i32,
        flags: i32,
        descriptor: i32,
    ) -> Result<()> {
        if !self.holds(address, size) {
            return refuse(AclError::RT_PARAM_INVALID, format!("{address:#x} is not in the reserved range"));
        }
        let place = HostPtr::from_addr(address).as_ptr();
        // SAFETY: the addresses belong to the range, so only its own mappings are replaced.
        let mapped = unsafe { libc::mmap(place, size, protection, flags, descriptor, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, "replace the mapping"));
        }
        Ok(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the addresses belong to the range, which nothing uses any more.
        unsafe { libc::munmap(HostPtr::from_addr(self.start).as_ptr(), self.size) };
    }
}

/// A mapping at addresses of the system's choice, which is removed on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: usize,
    size: usize,
}

impl Mapping {
    /// Maps the memory of a file.
    pub(crate) fn of(file: &SharedFile) -> Result<Self> {
        Self::new(file.size(), libc::MAP_SHARED, file.descriptor())
    }

    /// Maps memory of this process alone.
    fn private(size: usize) -> Result<Self> {
        Self::new(size, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    fn new(size: usize, flags: i32, descriptor: i32) -> Result<Self> {
        let protection = Access::ReadWrite.protection();
        // SAFETY: without MAP_FIXED, the system chooses free addresses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, descriptor, 0) };
        if start == libc::MAP_FAILED {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, &format!("map {size} bytes")));
        }
        Ok(Mapping { start: start.expose_provenance(), size })
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Moves the mapping over other pages, with their content.
    ///
    /// # Safety
    /// The pages at `address` belong to the caller, and nothing writes to them meanwhile.
    unsafe fn replace(self, address: usize) -> Result<()> {
        let (place, own) = (HostPtr::from_addr(address).as_ptr(), HostPtr::from_addr(self.start).as_ptr());
        // SAFETY: both are mapped with the same size. They do not overlap.
        unsafe { own.cast::<u8>().copy_from_nonoverlapping(place.cast(), self.size) };
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the mapping is owned, and the pages that it replaces belong to the caller.
        let moved = unsafe { libc::mremap(own, self.size, self.size, flags, place) };
        if moved == libc::MAP_FAILED {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, "replace the pages of an allocation"));
        }
        mem::forget(self);
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned, and nothing uses it any more.
        unsafe { libc::munmap(HostPtr::from_addr(self.start).as_ptr(), self.size) };
    }
}

/// Moves pages of this process to a file, at the same addresses.
///
/// # Safety
/// The pages belong to the caller, and nothing writes to them meanwhile.
pub(crate) unsafe fn share(address: usize, size: usize) -> Result<SharedFile> {
    let file = SharedFile::new(size)?;
    // SAFETY: the caller's promise.
    unsafe { Mapping::of(&file)?.replace(address)? };
    Ok(file)
}

/// Moves pages from a file back to this process, so that other processes do not see later changes.
///
/// # Safety
/// As for [`share`].
pub(crate) unsafe fn unshare(address: usize, size: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { Mapping::private(size)?.replace(address) }
}

/// Sets the access to pages that [`Range::map`] mapped.
pub(crate) fn protect(address: usize, size: usize, access: Access) -> Result<()> {
    let place = HostPtr::from_addr(address).as_ptr();
    // SAFETY: the caller passes one of its mappings.
    if unsafe { libc::mprotect(place, size, access.protection()) } != 0 {
        return Err(failed(AclError::RT_PARAM_INVALID, "protect the mapping"));
    }
    Ok(())
}
