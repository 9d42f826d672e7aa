//! What this thread has looked up of late: most calls use the same handles and memory again and again, and a look at
//! them here takes no lock.
//!
//! An entry goes with the number of a plugin and a count of changes; after a change it does not fit any more.

use std::cell::RefCell;
use std::sync::Arc;

use super::handle::Known;
use super::hash::fold;
use super::memory::Allocation;

/// Entries of each kind; a power of two.
const ENTRIES: usize = 64;
/// What is remembered as free of memory is a page.
const PAGE: u64 = 4096;

/// A plugin and its count of changes.
type Version = (u32, u64);
/// The same, and a handle with its kind.
type HandleKey = (u32, u64, u64);

struct Recent {
    handles: [Option<(HandleKey, Arc<Known>)>; ENTRIES],
    memory: [Option<(Version, i32, Arc<Allocation>)>; ENTRIES],
    /// What was last seen at the place of an entry: only what is seen twice in a row is worth one.
    seen: [u64; ENTRIES],
    clear: [(Version, u64); ENTRIES],
}

thread_local! {
    static RECENT: RefCell<Recent> = const {
        RefCell::new(Recent {
            handles: [const { None }; ENTRIES],
            memory: [const { None }; ENTRIES],
            seen: [0; ENTRIES],
            // No plugin has the number 0.
            clear: [((0, 0), 0); ENTRIES],
        })
    };
}

#[inline]
fn place(number: u64) -> usize {
    (fold(number) >> 32) as usize % ENTRIES
}

/// Looks at a handle, which is found anew where it is not known under this key.
#[inline]
pub(super) fn handle<T>(
    key: HandleKey,
    find: impl FnOnce() -> Option<Arc<Known>>,
    look: impl FnOnce(&Known) -> T,
) -> Option<T> {
    let mut look = Some(look);
    let mut seen = |known: &Known| look.take().map(|look| look(known));
    let found = RECENT.try_with(|recent| {
        let recent = recent.try_borrow().ok()?;
        match &recent.handles[place(key.2)] {
            Some((known_key, known)) if *known_key == key => seen(known),
            _ => None,
        }
    });
    if let Ok(Some(result)) = found {
        return Some(result);
    }
    let known = find()?;
    let result = seen(&known);
    // At the end of a thread there is nothing to remember.
    let _ = RECENT.try_with(|recent| {
        if let Ok(mut recent) = recent.try_borrow_mut() {
            recent.handles[place(key.2)] = Some((key, known));
        }
    });
    result
}

/// Looks at the memory that an address lies in, if it is known here to belong to the device.
#[inline]
pub(super) fn memory<T>(
    version: Version,
    device: i32,
    address: u64,
    look: impl FnOnce(&Allocation) -> T,
) -> Option<T> {
    RECENT
        .try_with(|recent| {
            let recent = recent.try_borrow().ok()?;
            match &recent.memory[place(address)] {
                Some((known, of, one))
                    if *known == version && *of == device && address.wrapping_sub(one.start) < one.size =>
                {
                    Some(look(one))
                }
                _ => None,
            }
        })
        .ok()
        .flatten()
}

/// Remembers what memory an address lies in.
pub(super) fn remember_memory(version: Version, device: i32, address: u64, memory: &Arc<Allocation>) {
    let _ = RECENT.try_with(|recent| {
        if let Ok(mut recent) = recent.try_borrow_mut() {
            let place = place(address);
            if std::mem::replace(&mut recent.seen[place], memory.start) == memory.start {
                recent.memory[place] = Some((version, device, memory.clone()));
            }
        }
    });
}

/// Whether the page of an address is known to have no memory of the plugin.
#[inline]
pub(super) fn is_clear(version: Version, address: u64) -> bool {
    let page = address / PAGE;
    RECENT
        .try_with(|recent| {
            recent.try_borrow().is_ok_and(|recent| recent.clear[place(page)] == (version, page))
        })
        .unwrap_or(false)
}

/// Remembers that the page of an address has no memory, if that is so.
pub(super) fn remember_clear(version: Version, address: u64, is_clear: impl FnOnce(u64, u64) -> bool) {
    let page = address / PAGE;
    let start = page * PAGE;
    if !is_clear(start, start.saturating_add(PAGE)) {
        return;
    }
    let _ = RECENT.try_with(|recent| {
        if let Ok(mut recent) = recent.try_borrow_mut() {
            recent.clear[place(page)] = (version, page);
        }
    });
}
