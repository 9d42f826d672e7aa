//! Memory from the operating system: the only place where it is obtained and returned.

use std::alloc::Layout;

/// Regions of at least this size are mapped on their own, in huge pages, which make the first
/// touch several times faster. Smaller ones come from the process's allocator, which keeps free
/// memory for the next request; this is the size up to which glibc does so.
const MAPPED: usize = 32 << 20;

/// A piece of memory, returned when dropped.
pub(crate) struct Region {
    addr: usize,
    layout: Layout,
    locked: bool,
}

impl Region {
    /// Obtains uninitialised memory; `None` if the system has none.
    pub(crate) fn new(size: usize, alignment: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size, alignment).ok().filter(|l| l.size() > 0)?;
        let addr = if size >= MAPPED { map(size)? } else { allocate(layout)? };
        Some(Self { addr, layout, locked: false })
    }

    pub(crate) fn addr(&self) -> usize {
        self.addr
    }

    pub(crate) fn size(&self) -> usize {
        self.layout.size()
    }

    /// Tries to lock the memory in place, which stays usable if that is not allowed. Returns true
    /// if the memory is locked.
    pub(crate) fn lock(&mut self) -> bool {
        // SAFETY: the range is the one that this region owns.
        self.locked = unsafe { libc::mlock(self.addr as *const libc::c_void, self.layout.size()) } == 0;
        self.locked
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.locked
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let size = self.layout.size();
        if self.locked {
            // SAFETY: the range is the one that this region owns, and it is locked.
            unsafe { libc::munlock(self.addr as *const libc::c_void, size) };
        }
        if size >= MAPPED {
            // SAFETY: `map` mapped exactly this range, and nothing uses it any longer.
            unsafe { libc::munmap(self.addr as *mut libc::c_void, size) };
        } else {
            // SAFETY: `allocate` returned this address for this layout.
            unsafe { std::alloc::dealloc(self.addr as *mut u8, self.layout) };
        }
    }
}

fn allocate(layout: Layout) -> Option<usize> {
    // SAFETY: the size of the layout is not zero, which `Region::new` ensures.
    let ptr = unsafe { std::alloc::alloc(layout) };
    (!ptr.is_null()).then_some(ptr as usize)
}

fn map(size: usize) -> Option<usize> {
    // SAFETY: an anonymous private mapping at an address of the system's choice touches nothing
    // that exists.
    let ptr = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            // The budget limits the memory, and may be larger than the memory of the machine.
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if ptr == libc::MAP_FAILED {
        return None;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: the range was mapped just now, and the advice affects only speed.
    unsafe {
        libc::madvise(ptr, size, libc::MADV_HUGEPAGE);
    }
    Some(ptr as usize)
}

/// Returns the memory of the machine in bytes, or of the container if that has less.
pub(crate) fn physical_memory() -> usize {
    // Miri does not implement `_SC_PHYS_PAGES`.
    #[cfg(miri)]
    let (pages, page) = (1 << 18, 4096);
    #[cfg(not(miri))]
    // SAFETY: reads two numbers from the C library.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGE_SIZE)) };
    let machine = usize::try_from(pages)
        .ok()
        .zip(usize::try_from(page).ok())
        .and_then(|(pages, page)| pages.checked_mul(page))
        .unwrap_or(1 << 30);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(usize::MAX);
    machine.min(container)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_writable() {
        for (size, alignment) in
            [(64, 64), (4096, 4096), (3 << 20, 4096), (MAPPED, 4096), (MAPPED + 4096, 4096)]
        {
            let region = Region::new(size, alignment).unwrap();
            assert!(region.addr().is_multiple_of(alignment));
            for at in [0, size - 1] {
                // SAFETY: both bytes lie in the region.
                unsafe { ((region.addr() + at) as *mut u8).write(7) };
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Region::new(isize::MAX as usize - 4095, 4096).is_none());
        assert!(Region::new(0, 64).is_none());
    }

    #[test]
    fn lock_leaves_the_memory_usable() {
        let mut region = Region::new(4096, 4096).unwrap();
        region.lock();
        // SAFETY: the byte lies in the region.
        unsafe { (region.addr() as *mut u8).write(1) };
    }
}
