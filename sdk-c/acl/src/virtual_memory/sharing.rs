//! Sharing of memory by key or number, within this process and with others.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::{Duration, Instant};
use tenon::support::Mutex;

use tenon::HostPtr;

use super::mappings::VirtualMemory;
use crate::api::{AclError, IpcMemAttrType, MemHandleType, MemSharedHandleType};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::shared::file::SharedFile;
use crate::shared::name::Name;
use crate::shared::pages::Mapping;
use crate::state::State;
use crate::state::blocks::{Block, Blocks, Place};

/// Shortest buffer that a program may pass for a key, in bytes. All keys are shorter.
const KEY_BUFFER_SIZE: usize = 65;

/// The longest time that an export waits for the work of the device, which may itself wait for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Memory that has a key.
struct Share {
    block: Weak<Block>,
    address: usize,
    /// The number of users: the exporter, and one for each import.
    users: usize,
    /// The file of exported memory, until it is freed. Memory of other processes has none.
    file: Option<Weak<SharedFile>>,
}

impl Share {
    /// Returns true if the memory was not freed. Another block at the same address does not have the key.
    fn is_alive(&self, blocks: &Blocks) -> bool {
        blocks.contains(self.address, &self.block)
    }
}

/// A key: a range of a file.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    name: Name,
    offset: usize,
    size: usize,
}

impl Key {
    fn to_text(&self) -> String {
        format!("tenon-{}-{:x}-{:x}", self.name, self.offset, self.size)
    }

    /// Returns the range; `None` if it is empty or ends beyond all memory.
    fn range(&self) -> Option<Range<usize>> {
        let end = self.offset.checked_add(self.size)?;
        (self.size > 0).then_some(self.offset..end)
    }

    fn parse(key: &CStr) -> Option<Self> {
        let text = key.to_str().ok()?.strip_prefix("tenon-")?;
        let (text, size) = text.rsplit_once('-')?;
        let (name, offset) = text.rsplit_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(Key { name: Name::parse(name)?, offset: number(offset)?, size: number(size)? })
    }
}

/// All memory that has a key.
#[derive(Default)]
pub(crate) struct SharedMemory(Mutex<BTreeMap<CString, Share>>);

impl SharedMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<CString, Share>> {
        self.0.lock()
    }

    /// Calls a function with the memory of a key, if the memory was not freed.
    fn with<R>(&self, state: &State, key: &CStr, body: impl FnOnce(&mut Share) -> R) -> Result<R> {
        self.lock()
            .get_mut(key)
            .filter(|share| share.is_alive(&state.blocks))
            .map(body)
            .ok_or_else(unknown_key)
    }

    /// Writes a key with which processes can import memory.
    pub(crate) fn export(
        &self,
        state: &State,
        virtual_memory: &VirtualMemory,
        (address, size): (usize, usize),
        buffer: &mut [u8],
        flags: u64,
    ) -> Result<()> {
        if size == 0 {
            return refuse(AclError::INVALID_PARAM, "`size` is 0");
        }
        expect_flags(flags)?;
        let block = state.blocks.device_range("dev_ptr", address, size)?;
        let (file, offset) = match virtual_memory.file_at(address) {
            Some(mapped) => mapped,
            None => (share(state, &block)?, address - block.base),
        };
        let key = Key { name: file.export(offset..offset + size, flags == 1)?, offset, size };
        let key = write_key(buffer, &key.to_text())?;
        let mut shared = self.lock();
        // Keys of freed memory are removed here.
        shared.retain(|_, share| share.is_alive(&state.blocks));
        let share =
            Share { block: Arc::downgrade(&block), address, users: 1, file: Some(Arc::downgrade(&file)) };
        shared.entry(key).or_insert(share);
        Ok(())
    }

    /// Returns the address of the memory of a key, and adds a user.
    pub(crate) fn import(&self, state: &State, key: &CStr, flags: u64) -> Result<usize> {
        expect_flags(flags)?;
        let known = self.with(state, key, |share| {
            share.users += 1;
            share.address
        });
        let foreign = Key::parse(key).filter(|key| !key.name.is_own());
        match (known, foreign) {
            (Err(_), Some(foreign)) => self.import_foreign(state, key, &foreign),
            (known, _) => known,
        }
    }

    /// Maps memory of another process.
    fn import_foreign(&self, state: &State, key: &CStr, foreign: &Key) -> Result<usize> {
        let lease = state.lease_current_device()?;
        if !lease.memory_is_host {
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                "the devices do not support memory of other processes",
            );
        }
        let file = SharedFile::open(foreign.name)?;
        // A key is text, which a process may have changed.
        if !foreign.range().is_some_and(|range| file.has_exported(&range)) {
            return Err(unknown_key());
        }
        let mapping = Mapping::of(&file)?;
        let start = mapping.start() + foreign.offset;
        let block = Block::imported(start, foreign.size, mapping, lease);
        if state.blocks.insert_disjoint(block).is_err() {
            return refuse(
                AclError::RT_MEMORY_ALLOCATION,
                "the addresses of the mapping are registered memory",
            );
        }
        let block = state.blocks.find(start).as_ref().map(Arc::downgrade).unwrap_or_default();
        let share = Share { block, address: start, users: 1, file: None };
        let before = self.lock().insert(key.to_owned(), share);
        // Another thread may have imported it at the same time. Its address stays valid as long as its device is set.
        drop(before);
        Ok(start)
    }

    /// Removes a user of a key.
    pub(crate) fn close(&self, state: &State, key: &CStr) -> Result<()> {
        let last = {
            let mut shared = self.lock();
            let Some(share) = shared.get_mut(key) else { return Err(unknown_key()) };
            share.users -= 1;
            if share.users == 0 { shared.remove(key) } else { None }
        };
        match last {
            None => Ok(()),
            Some(Share { file: Some(file), .. }) => {
                // All keys here are those that `export` has written.
                let range = Key::parse(key).and_then(|key| key.range()).unwrap_or_default();
                file.upgrade().map_or(Ok(()), |file| file.withdraw_range(&range))
            }
            Some(share) => {
                if let Some(block) = share.block.upgrade() {
                    state.synchronize_device(&block.lease.device, None)?;
                }
                let is_same = |known: &Block| std::ptr::eq(known, share.block.as_ptr());
                drop(state.blocks.remove_if(share.address, is_same));
                Ok(())
            }
        }
    }

    /// Sets the processes that may import the memory of a key.
    pub(crate) fn allow(&self, state: &State, key: &CStr, processes: &[i32]) -> Result<()> {
        match self.with(state, key, |share| share.file.as_ref().and_then(Weak::upgrade))? {
            Some(file) => file.allow(processes),
            None => refuse(AclError::RT_PARAM_INVALID, "`key` is that of another process"),
        }
    }

    /// Checks that a key names memory.
    pub(crate) fn expect(&self, state: &State, key: &CStr) -> Result<()> {
        self.with(state, key, |_| ())
    }

    /// Unmaps all memory of other processes, and lets no process import memory of this one.
    pub(crate) fn release_all(&self, state: &State) {
        let shares = std::mem::take(&mut *self.lock());
        for share in shares.into_values() {
            if let Some(file) = share.file.and_then(|file| file.upgrade()) {
                // There is no caller that could receive an error.
                let _ = file.withdraw();
            }
            state.blocks.remove_if(share.address, |block| matches!(block.place, Place::Imported(_)));
        }
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

/// Moves the memory of a block to a file, when no work of the device uses it.
fn share(state: &State, block: &Arc<Block>) -> Result<Arc<SharedFile>> {
    if !state.synchronize_device(&block.lease.device, Some(Instant::now() + PATIENCE))? {
        let message = format!(
            "the work of the device did not end within {PATIENCE:?}, as it must before memory is shared"
        );
        return refuse(AclError::RT_STREAM_SYNC_TIMEOUT, message);
    }
    state.blocks.share(block)
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
    Error::new(AclError::RT_PARAM_INVALID, "`key` names no memory, or memory that was freed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_key_fits_into_the_shortest_buffer() {
        let name = Name::of_number(u64::MAX);
        let key = Key { name, offset: (1 << 47) - 1, size: (1 << 47) - 1 };
        let mut buffer = [0; KEY_BUFFER_SIZE];
        let text = write_key(&mut buffer, &key.to_text()).unwrap();
        assert_eq!(Key::parse(&text), Some(key));
    }
}
