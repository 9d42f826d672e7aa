//! System calls for address ranges, anonymous files and mappings.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tenon::HostPtr;

use crate::api::{AclError, MemAccessFlags};
use crate::error::{Error, Result, refuse};

/// Returns the page size of the machine in bytes, a power of two.
pub(crate) fn size() -> usize {
    // SAFETY: it has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cold]
fn failed(code: AclError, what: &str) -> Error {
    Error::new(code, format!("the system could not {what}: {}", io::Error::last_os_error()))
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

/// Physical memory: an anonymous file of this process.
pub(crate) struct File {
    descriptor: OwnedFd,
    size: usize,
}

impl File {
    /// Allocates memory, which is zero.
    pub(crate) fn new(size: usize) -> Result<Self> {
        // SAFETY: the name is NUL-terminated.
        let descriptor = unsafe { libc::memfd_create(c"tenon".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, "create physical memory"));
        }
        // SAFETY: the descriptor is new and has no other owner.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let Ok(length) = libc::off_t::try_from(size) else {
            return refuse(AclError::RT_MEMORY_ALLOCATION, format!("there is no memory for {size} bytes"));
        };
        // SAFETY: the descriptor is open.
        if unsafe { libc::fallocate(descriptor.as_raw_fd(), 0, 0, length) } != 0 {
            return Err(failed(AclError::RT_MEMORY_ALLOCATION, &format!("allocate {size} bytes")));
        }
        Ok(File { descriptor, size })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
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
    pub(crate) fn map(&self, address: usize, file: &File) -> Result<()> {
        let protection = Access::ReadWrite.protection();
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        self.replace(address, file.size, protection, flags, file.descriptor.as_raw_fd())
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

/// Sets the access to pages that [`Range::map`] mapped.
pub(crate) fn protect(address: usize, size: usize, access: Access) -> Result<()> {
    let place = HostPtr::from_addr(address).as_ptr();
    // SAFETY: the caller passes one of its mappings.
    if unsafe { libc::mprotect(place, size, access.protection()) } != 0 {
        return Err(failed(AclError::RT_PARAM_INVALID, "protect the mapping"));
    }
    Ok(())
}
