//! Sharing of memory by key or number, within this process.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tenon::HostPtr;

use crate::api::{AclError, IpcMemAttrType, MemHandleType, MemSharedHandleType};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::state::State;
use crate::state::blocks::{Block, Blocks};

/// Shortest buffer that a program may pass for a key, in bytes. All keys are shorter.
const KEY_BUFFER_SIZE: usize = 65;

/// Memory that has a key.
struct Share {
    block: Weak<Block>,
    address: usize,
    /// The number of users: the exporter, and one for each import.
    users: usize,
}

impl Share {
    /// Returns true if the memory was not freed. Another block at the same address does not have the key.
    fn is_alive(&self, blocks: &Blocks) -> bool {
        blocks.contains(self.address, &self.block)
    }
}

/// All memory that has a key.
#[derive(Default)]
pub(crate) struct SharedMemory(Mutex<BTreeMap<CString, Share>>);

impl SharedMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<CString, Share>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the memory of a key, if the memory was not freed.
    fn with<R>(&self, state: &State, key: &CStr, body: impl FnOnce(&mut Share) -> R) -> Result<R> {
        self.lock()
            .get_mut(key)
            .filter(|share| share.is_alive(&state.blocks))
            .map(body)
            .ok_or_else(unknown_key)
    }

    /// Writes a key with which the process can import memory.
    pub(crate) fn export(
        &self,
        state: &State,
        (address, size): (usize, usize),
        buffer: &mut [u8],
        flags: u64,
    ) -> Result<()> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        expect_flags(flags)?;
        let block = state.blocks.device_range("dev_ptr", address, size)?;
        let key = write_key(buffer, &format!("tenon-memory-{}-{address:x}-{size:x}", std::process::id()))?;
        let mut shared = self.lock();
        // Keys of freed memory are removed here.
        shared.retain(|_, share| share.is_alive(&state.blocks));
        shared.entry(key).or_insert(Share { block: Arc::downgrade(&block), address, users: 1 });
        Ok(())
    }

    /// Returns the address of the memory of a key, and adds a user.
    pub(crate) fn import(&self, state: &State, key: &CStr, flags: u64) -> Result<usize> {
        expect_flags(flags)?;
        self.with(state, key, |share| {
            share.users += 1;
            share.address
        })
    }

    /// Removes a user of a key.
    pub(crate) fn close(&self, key: &CStr) -> Result<()> {
        let mut shared = self.lock();
        let Some(share) = shared.get_mut(key) else { return Err(unknown_key()) };
        share.users -= 1;
        if share.users == 0 {
            shared.remove(key);
        }
        Ok(())
    }

    /// Checks that a key names memory.
    pub(crate) fn expect(&self, state: &State, key: &CStr) -> Result<()> {
        self.with(state, key, |_| ())
    }

    /// Checks an attribute of shared memory, which has no effect.
    pub(crate) fn set_attribute(
        &self,
        state: &State,
        key: &CStr,
        attribute: IpcMemAttrType,
        value: u64,
    ) -> Result<()> {
        self.expect(state, key)?;
        if attribute.name().is_none() {
            return unknown_value("type", attribute.0);
        }
        if value > 1 {
            return refuse(AclError::RT_PARAM_INVALID, format!("`attr` is {value}; it must be 0 or 1"));
        }
        Ok(())
    }
}

/// Checks the flags of functions that share memory.
pub(crate) fn expect_flags(flags: u64) -> Result<()> {
    if flags > 1 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flags` is {flags}; it must be 0 or 1"));
    }
    Ok(())
}

/// Writes a key into a program's buffer.
pub(crate) fn write_key(buffer: &mut [u8], key: &str) -> Result<CString> {
    if buffer.len() < KEY_BUFFER_SIZE {
        return refuse(
            AclError::INVALID_PARAM,
            format!("`len` is {}, less than {KEY_BUFFER_SIZE}", buffer.len()),
        );
    }
    let key = CString::new(key).unwrap_or_default();
    let bytes = key.as_bytes_with_nul();
    buffer[..bytes.len()].copy_from_slice(bytes);
    Ok(key)
}

/// Checks that physical memory can be exported as a type of handle.
pub(crate) fn expect_handle_type(handle_type: MemHandleType) -> Result<()> {
    match handle_type {
        MemHandleType::NONE => Ok(()),
        _ => {
            refuse(AclError::RT_PARAM_INVALID, format!("`handle_type` is {handle_type:?}; it must be `none`"))
        }
    }
}

/// Returns the address of the number with which physical memory is shared.
pub(crate) fn number_address(kind: MemSharedHandleType, address: HostPtr) -> Result<*mut u64> {
    if address.is_null() {
        return refuse(AclError::INVALID_PARAM, "`shareable_handle` is null");
    }
    match kind {
        MemSharedHandleType::DEFAULT => Ok(address.as_ptr().cast()),
        _ => refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`share_type` is {kind:?}; it must be `default`, a number"),
        ),
    }
}

#[cold]
fn unknown_key() -> Error {
    let message = "`key` names no memory of this process; processes do not share memory";
    Error::new(AclError::RT_PARAM_INVALID, message)
}
