//! Message buffers: reference-counted host memory with user data, in chains.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use crate::api::AclError;
use crate::error::{Error, Result, refuse, unknown_handle};
use crate::memory::allocation;
use crate::state::State;
use crate::state::handles::HandleKind;

/// Most bytes of memory in a buffer.
const MAX_SIZE: usize = 4 << 30;
/// The size of a buffer's user data, in bytes.
const USER_DATA_SIZE: usize = 96;
/// Most buffers in a chain.
const MAX_CHAIN: usize = 128;

/// Memory that buffers share.
struct Data {
    address: usize,
    size: usize,
    /// The number of buffers that share it.
    buffers: Mutex<usize>,
}

#[derive(Clone, Copy)]
struct Content {
    length: usize,
    user_data: [u8; USER_DATA_SIZE],
}

/// A message buffer of the program.
struct MessageBuffer {
    data: Arc<Data>,
    content: Mutex<Content>,
}

impl MessageBuffer {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock()
    }
}

/// The chains of buffers by handle.
#[derive(Default)]
struct Chains {
    /// The other buffers of each chain, by the head of the chain.
    behind: BTreeMap<usize, Vec<usize>>,
    /// The head of each chain, by the other buffers of the chain.
    first: BTreeMap<usize, usize>,
}

impl Chains {
    /// Returns the buffers of a chain after its head. A head may be alone.
    fn of(&self, head: usize) -> Result<&[usize]> {
        if self.first.contains_key(&head) {
            return refuse(AclError::RT_PARAM_INVALID, "`head_buf` is not the first buffer of its chain");
        }
        Ok(self.behind.get(&head).map_or(&[], Vec::as_slice))
    }

    /// Removes a buffer from its chain. Removing the head dissolves the chain.
    fn leave(&mut self, buffer: usize) {
        for member in self.behind.remove(&buffer).unwrap_or_default() {
            self.first.remove(&member);
        }
        if let Some(first) = self.first.remove(&buffer)
            && let Some(members) = self.behind.get_mut(&first)
        {
            members.retain(|member| *member != buffer);
        }
    }
}

/// All message buffers of the program.
pub(crate) struct MessageBuffers {
    table: HandleTable<MessageBuffer>,
    chains: Mutex<Chains>,
}

impl Default for MessageBuffers {
    fn default() -> Self {
        MessageBuffers { table: HandleTable::new(HandleKind::MessageBuffer as u8), chains: Mutex::default() }
    }
}

impl MessageBuffers {
    fn get(&self, param: &str, handle: usize) -> Result<Arc<MessageBuffer>> {
        self.table.get(handle).ok_or_else(|| unknown_handle(param, handle))
    }

    fn add(&self, data: Arc<Data>, content: Content) -> Result<usize> {
        let content = Mutex::new(content);
        let buffer = self.table.insert_with(|_| MessageBuffer { data, content });
        buffer
            .map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "16 million buffers exist already"))
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock()
    }

    /// Returns the address and the size of a buffer's memory.
    pub(crate) fn memory(&self, handle: usize) -> Result<(usize, usize)> {
        self.get("buf", handle).map(|buffer| (buffer.data.address, buffer.data.size))
    }

    /// Returns the length of the data in a buffer.
    pub(crate) fn length(&self, handle: usize) -> Result<usize> {
        self.get("buf", handle).map(|buffer| buffer.content().length)
    }

    /// Sets the length of the data in a buffer.
    pub(crate) fn set_length(&self, handle: usize, length: usize) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        if length > buffer.data.size {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`len` is {length}, but the buffer has {} bytes", buffer.data.size),
            );
        }
        buffer.content().length = length;
        Ok(())
    }

    /// Copies from the user data of a buffer.
    pub(crate) fn read_user_data(&self, handle: usize, offset: usize, place: &mut [u8]) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        match buffer.content().user_data.get(offset..).and_then(|data| data.get(..place.len())) {
            Some(data) => place.copy_from_slice(data),
            None => return beyond(offset, place.len()),
        }
        Ok(())
    }

    /// Copies into the user data of a buffer.
    pub(crate) fn write_user_data(&self, handle: usize, offset: usize, data: &[u8]) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        match buffer.content().user_data.get_mut(offset..).and_then(|place| place.get_mut(..data.len())) {
            Some(place) => place.copy_from_slice(data),
            None => return beyond(offset, data.len()),
        }
        Ok(())
    }

    /// Creates another buffer that shares the same memory.
    pub(crate) fn share(&self, handle: usize) -> Result<usize> {
        let buffer = self.get("buf", handle)?;
        let mut buffers = buffer.data.buffers.lock();
        if *buffers == 0 {
            // Another thread freed the buffer in the meantime.
            return Err(unknown_handle("buf", handle));
        }
        let content = *buffer.content();
        let other = self.add(buffer.data.clone(), content)?;
        *buffers += 1;
        Ok(other)
    }

    /// Appends a buffer to a chain.
    pub(crate) fn append(&self, head: usize, handle: usize) -> Result<()> {
        self.get("head_buf", head)?;
        self.get("buf", handle)?;
        let mut chains = self.chains();
        let behind = chains.of(head)?.len();
        let is_chained = chains.first.contains_key(&handle) || chains.behind.contains_key(&handle);
        if head == handle || is_chained {
            return refuse(AclError::RT_PARAM_INVALID, "`buf` is already in a chain");
        }
        if behind + 1 >= MAX_CHAIN {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("the chain has {MAX_CHAIN} buffers, which is the maximum"),
            );
        }
        chains.behind.entry(head).or_default().push(handle);
        chains.first.insert(handle, head);
        Ok(())
    }

    /// Returns the number of buffers in a chain.
    pub(crate) fn count(&self, head: usize) -> Result<u32> {
        self.get("head_buf", head)?;
        let behind = self.chains().of(head)?.len();
        Ok(u32::try_from(behind).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// Returns the buffer at an index of a chain; 0 is the head.
    pub(crate) fn at(&self, head: usize, index: u32) -> Result<usize> {
        self.get("head_buf", head)?;
        let chains = self.chains();
        let behind = chains.of(head)?;
        let place = (index as usize).checked_sub(1);
        place.map_or(Some(&head), |place| behind.get(place)).copied().ok_or_else(|| {
            let message = format!("`index` is {index}, but the chain has {} buffers", behind.len() + 1);
            Error::new(AclError::RT_PARAM_INVALID, message)
        })
    }

    /// Allocates a buffer.
    pub(crate) fn allocate(&self, state: &State, size: usize) -> Result<usize> {
        if size > MAX_SIZE {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}; a buffer can have at most {MAX_SIZE} bytes"),
            );
        }
        let address = allocation::allocate_host(state, size as u64)?;
        let data = Arc::new(Data { address, size, buffers: Mutex::new(1) });
        let added = self.add(data, Content { length: 0, user_data: [0; USER_DATA_SIZE] });
        if added.is_err() {
            let _ = allocation::free_host(state, address, false);
        }
        added
    }

    /// Frees a buffer. Its memory is freed with the last buffer that shares it.
    pub(crate) fn free(&self, state: &State, handle: usize) -> Result<()> {
        let buffer = self.table.remove(handle).ok_or_else(|| unknown_handle("buf", handle))?;
        self.chains().leave(handle);
        let left = {
            let mut buffers = buffer.data.buffers.lock();
            *buffers -= 1;
            *buffers
        };
        if left == 0 { allocation::free_host(state, buffer.data.address, false) } else { Ok(()) }
    }
}

#[cold]
fn beyond(offset: usize, size: usize) -> Result<()> {
    refuse(
        AclError::RT_PARAM_INVALID,
        format!("`size`, {size}, and `offset`, {offset}, exceed the {USER_DATA_SIZE} bytes of user data"),
    )
}
