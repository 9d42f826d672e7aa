//! A cache of the thread's lookups, which needs no lock. Most calls use the same handles and memory again and again.
//!
//! The key of an entry contains the number of a plugin and its count of changes, so a change invalidates the entry.

use std::cell::RefCell;
use std::sync::Arc;

use super::allocations::Allocation;
use super::handles::HandleInfo;
use super::hash::fold;

/// Entries of each kind; a power of two.
const ENTRIES: usize = 64;
/// Pages without memory of the plugin are cached.
const PAGE: u64 = 4096;

/// A plugin and its count of changes.
type Version = (u32, u64);
/// The same, and a handle with its kind.
type HandleKey = (u32, u64, u64);

struct LookupCache {
    handles: [Option<(HandleKey, Arc<HandleInfo>)>; ENTRIES],
    memory: [Option<(Version, i32, Arc<Allocation>)>; ENTRIES],
    /// The last address for each entry: an address is cached when it is looked up twice in a row.
    seen: [u64; ENTRIES],
    clear: [(Version, u64); ENTRIES],
}

thread_local! {
    static CACHE: RefCell<LookupCache> = const {
        RefCell::new(LookupCache {
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

/// Looks up a handle, in the registry if this key does not have it.
#[inline]
pub fn handle<T>(
    key: HandleKey,
    find: impl FnOnce() -> Option<Arc<HandleInfo>>,
    look: impl FnOnce(&HandleInfo) -> T,
) -> Option<T> {
    let mut look = Some(look);
    let mut seen = |known: &HandleInfo| look.take().map(|look| look(known));
    let found = CACHE.try_with(|cache| {
        let cache = cache.try_borrow().ok()?;
        match &cache.handles[place(key.2)] {
            Some((known_key, known)) if *known_key == key => seen(known),
            _ => None,
        }
    });
    if let Ok(Some(result)) = found {
        return Some(result);
    }
    let known = find()?;
    let result = seen(&known);
    // At the end of a thread, the cache may be destroyed already, and is not needed.
    let _ = CACHE.try_with(|cache| {
        if let Ok(mut cache) = cache.try_borrow_mut() {
            cache.handles[place(key.2)] = Some((key, known));
        }
    });
    result
}

/// Returns the memory that an address lies in, if the cache has it as memory of the device.
#[inline]
pub fn memory<T>(
    version: Version,
    device: i32,
    address: u64,
    look: impl FnOnce(&Allocation) -> T,
) -> Option<T> {
    CACHE
        .try_with(|cache| {
            let cache = cache.try_borrow().ok()?;
            match &cache.memory[place(address)] {
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

/// Caches the allocation of an address.
pub fn remember_memory(version: Version, device: i32, address: u64, memory: &Arc<Allocation>) {
    let _ = CACHE.try_with(|cache| {
        if let Ok(mut cache) = cache.try_borrow_mut() {
            let place = place(address);
            if std::mem::replace(&mut cache.seen[place], memory.start) == memory.start {
                cache.memory[place] = Some((version, device, memory.clone()));
            }
        }
    });
}

/// Returns true if the page of an address is known to have no memory of the plugin.
#[inline]
pub fn is_clear(version: Version, address: u64) -> bool {
    let page = address / PAGE;
    CACHE
        .try_with(|cache| cache.try_borrow().is_ok_and(|cache| cache.clear[place(page)] == (version, page)))
        .unwrap_or(false)
}

/// Caches the page of an address if it has no memory of the plugin.
pub fn remember_clear(version: Version, address: u64, is_clear: impl FnOnce(u64, u64) -> bool) {
    let page = address / PAGE;
    let start = page * PAGE;
    if !is_clear(start, start.saturating_add(PAGE)) {
        return;
    }
    let _ = CACHE.try_with(|cache| {
        if let Ok(mut cache) = cache.try_borrow_mut() {
            cache.clear[place(page)] = (version, page);
        }
    });
}
