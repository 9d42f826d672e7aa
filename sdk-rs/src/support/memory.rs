//! Host memory: buffers of fallbacks, and the memory that is left.

use std::cell::Cell;

use crate::error::{Error, StatusCode};

/// Allocates the host buffer of a fallback, filled with one byte value.
///
/// # Errors
/// `UNSUPPORTED` if the host has not enough memory: a fallback must not abort the process.
pub fn buffer<S: StatusCode>(bytes: usize, fill: u8) -> Result<Vec<u8>, Error<S>> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(bytes)
        .map_err(|_| Error::new(S::UNSUPPORTED, format!("no {bytes} bytes of host memory for a fallback")))?;
    buffer.resize(bytes, fill);
    Ok(buffer)
}

/// Bytes of address space that must be free.
const ROOM: usize = 16 << 20;

/// Calls of a thread between two checks.
///
/// A check makes two system calls. An object takes less than 4 KiB, so the memory suffices until the next check.
const CALLS_PER_CHECK: u16 = 2047;

/// Returns true if the host has memory for the small objects of a few calls, such as the description of an event.
///
/// Small objects are allocated by code that cannot report a failure. So functions that create an object or queue work
/// call this first, and fail with out-of-memory if it returns false. It checks once in 2048 calls per thread; other
/// threads may use up the memory in between.
#[inline]
pub fn has_room() -> bool {
    thread_local! {
        static CALLS: Cell<u16> = const { Cell::new(0) };
    }
    CALLS
        .try_with(|calls| match calls.get() {
            0 => {
                let is_there = can_map(ROOM);
                calls.set(if is_there { CALLS_PER_CHECK } else { 0 });
                is_there
            }
            left => {
                calls.set(left - 1);
                true
            }
        })
        // The thread is ending, and the thread-local is already destroyed.
        .unwrap_or(true)
}

/// Returns true if the process can map this many bytes.
///
/// A trial allocation would not show it: `malloc` tries two of its arenas, and not always the same two, so a large
/// allocation may succeed just before a small one fails. Freshly mapped memory is available to every arena.
#[cold]
fn can_map(bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the address of the new mapping, and nothing uses it before it is removed.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, bytes) == 0
    }
}
