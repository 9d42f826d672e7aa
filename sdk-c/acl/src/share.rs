//! Memory that is found by a key or a number, within this process.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tenon::HostPtr;

use crate::api::{AclError, MemHandleType, MemSharedHandleType};
use crate::block::{Block, Memory};
use crate::error::{Error, Result, refuse};
use crate::runtime::Runtime;

/// The room that programs have to give for a key, in bytes: all keys are shorter.
const KEY_ROOM: usize = 65;

/// Memory that has a key.
struct Share {
    memory: Weak<Block>,
    address: usize,
    /// How many sides there are: the one that has exported it, and each that has imported it.
    sides: usize,
}

impl Share {
    /// Whether the memory is still there; another piece at its address is not the one that has the key.
    fn is_alive(&self, memory: &Memory) -> bool {
        memory.has(self.address, &self.memory)
    }
}

/// All memory that has a key.
#[derive(Default)]
pub(crate) struct Shared(Mutex<BTreeMap<CString, Share>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<CString, Share>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the memory of a key, if that was not freed since.
    fn with<R>(&self, memory: &Memory, key: &CStr, body: impl FnOnce(&mut Share) -> R) -> Result<R> {
        self.lock().get_mut(key).filter(|share| share.is_alive(memory)).map(body).ok_or_else(no_such)
    }
}

impl Runtime {
    /// A key for memory.
    pub(crate) fn export_memory(
        &self,
        address: usize,
        size: usize,
        place: &mut [u8],
        flags: u64,
    ) -> Result<()> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        expect_flags(flags)?;
        let block = self.device_range("dev_ptr", address, size)?;
        let key = write_key(place, &format!("tenon-memory-{}-{address:x}-{size:x}", std::process::id()))?;
        let mut shared = self.shared.lock();
        // With their memory go the keys.
        shared.retain(|_, share| share.is_alive(&self.memory));
        shared.entry(key).or_insert(Share { memory: Arc::downgrade(&block), address, sides: 1 });
        Ok(())
    }

    /// The memory of a key.
    pub(crate) fn import_memory(&self, key: &CStr, flags: u64) -> Result<usize> {
        expect_flags(flags)?;
        self.shared.with(&self.memory, key, |share| {
            share.sides += 1;
            share.address
        })
    }

    /// Ends one side's use of a key.
    pub(crate) fn close_memory(&self, key: &CStr) -> Result<()> {
        let mut shared = self.shared.lock();
        let Some(share) = shared.get_mut(key) else { return Err(no_such()) };
        share.sides -= 1;
        if share.sides == 0 {
            shared.remove(key);
        }
        Ok(())
    }

    /// Whether there is memory of a key.
    pub(crate) fn expect_shared(&self, key: &CStr) -> Result<()> {
        self.shared.with(&self.memory, key, |_| ())
    }
}

/// Whether flags of sharing memory are among those that there are.
pub(crate) fn expect_flags(flags: u64) -> Result<()> {
    if flags > 1 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it is 0 or 1"));
    }
    Ok(())
}

/// Writes a key where a program has room for it.
pub(crate) fn write_key(place: &mut [u8], key: &str) -> Result<CString> {
    if place.len() < KEY_ROOM {
        return refuse(AclError::INVALID_PARAM, format!("`len` is {}, less than {KEY_ROOM}", place.len()));
    }
    let key = CString::new(key).unwrap_or_default();
    let bytes = key.as_bytes_with_nul();
    place[..bytes.len()].copy_from_slice(bytes);
    Ok(key)
}

/// Whether physical memory can be handed on in a way.
pub(crate) fn expect_handle_type(handle_type: MemHandleType) -> Result<()> {
    match handle_type {
        MemHandleType::NONE => Ok(()),
        _ => refuse(
            AclError::RT_PARAM_INVALID,
            format!("`handle_type` is {handle_type:?}; there is only `none`"),
        ),
    }
}

/// Where the number is that stands for physical memory.
pub(crate) fn place_of_number(way: MemSharedHandleType, place: HostPtr) -> Result<*mut u64> {
    if place.is_null() {
        return refuse(AclError::INVALID_PARAM, "`shareable_handle` is null");
    }
    match way {
        MemSharedHandleType::DEFAULT => Ok(place.as_ptr().cast()),
        _ => refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`share_type` is {way:?}; memory is named by a number, `default`"),
        ),
    }
}

#[cold]
fn no_such() -> Error {
    let message = "`key` names no memory of this process; processes do not share memory";
    Error::new(AclError::RT_PARAM_INVALID, message)
}
