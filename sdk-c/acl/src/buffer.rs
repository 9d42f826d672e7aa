//! Buffers: handles of counted memory, with notes, in chains.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::AclError;
use crate::error::{Error, Result, refuse};
use crate::runtime::{Runtime, unknown};
use crate::table::{Kind, Table};

/// How long the memory of a buffer can be, in bytes.
const LONGEST: usize = 4 << 30;
/// How many bytes of notes a buffer has.
const NOTES: usize = 96;
/// How many buffers a chain has at most.
const MOST: usize = 128;

/// Memory that buffers stand for.
struct Data {
    address: usize,
    size: usize,
    /// How many buffers there are of it.
    buffers: Mutex<usize>,
}

#[derive(Clone, Copy)]
struct Content {
    length: usize,
    notes: [u8; NOTES],
}

/// A buffer of the program's.
struct Buffer {
    handle: usize,
    data: Arc<Data>,
    content: Mutex<Content>,
}

impl Buffer {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which buffers are behind which, by their handles.
#[derive(Default)]
struct Chains {
    /// Those behind each first one.
    behind: BTreeMap<usize, Vec<usize>>,
    /// The first one before each.
    first: BTreeMap<usize, usize>,
}

impl Chains {
    /// Those behind a buffer that is the first of its chain, or alone.
    fn of(&self, head: usize) -> Result<&[usize]> {
        if self.first.contains_key(&head) {
            return refuse(AclError::RT_PARAM_INVALID, "`head_buf` is not the first of its chain");
        }
        Ok(self.behind.get(&head).map_or(&[], Vec::as_slice))
    }

    /// Takes a buffer out of its chain; with the first one the chain ends.
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

/// All buffers.
pub(crate) struct Buffers {
    table: Table<Buffer>,
    chains: Mutex<Chains>,
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers { table: Table::new(Kind::Buffer), chains: Mutex::default() }
    }
}

impl Buffers {
    fn get(&self, param: &str, handle: usize) -> Result<Arc<Buffer>> {
        self.table.get(handle).ok_or_else(|| unknown(param, handle))
    }

    fn add(&self, data: Arc<Data>, content: Content) -> Result<usize> {
        let content = Mutex::new(content);
        let buffer = self.table.insert_with(|handle| Buffer { handle, data, content });
        buffer
            .map(|buffer| buffer.handle)
            .ok_or_else(|| Error::new(AclError::RT_RESOURCE_ALLOC_FAIL, "a million buffers are alive"))
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the memory of a buffer is, and how long it is.
    pub(crate) fn memory(&self, handle: usize) -> Result<(usize, usize)> {
        self.get("buf", handle).map(|buffer| (buffer.data.address, buffer.data.size))
    }

    /// How much is in a buffer.
    pub(crate) fn length(&self, handle: usize) -> Result<usize> {
        self.get("buf", handle).map(|buffer| buffer.content().length)
    }

    /// Notes how much is in a buffer.
    pub(crate) fn set_length(&self, handle: usize, length: usize) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        if length > buffer.data.size {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`len` is {length}, and the buffer has {} bytes", buffer.data.size),
            );
        }
        buffer.content().length = length;
        Ok(())
    }

    /// Copies out of the notes of a buffer.
    pub(crate) fn read_notes(&self, handle: usize, offset: usize, place: &mut [u8]) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        match buffer.content().notes.get(offset..).and_then(|notes| notes.get(..place.len())) {
            Some(notes) => place.copy_from_slice(notes),
            None => return beyond(offset, place.len()),
        }
        Ok(())
    }

    /// Copies into the notes of a buffer.
    pub(crate) fn write_notes(&self, handle: usize, offset: usize, notes: &[u8]) -> Result<()> {
        let buffer = self.get("buf", handle)?;
        match buffer.content().notes.get_mut(offset..).and_then(|place| place.get_mut(..notes.len())) {
            Some(place) => place.copy_from_slice(notes),
            None => return beyond(offset, notes.len()),
        }
        Ok(())
    }

    /// A further buffer of the same memory.
    pub(crate) fn share(&self, handle: usize) -> Result<usize> {
        let buffer = self.get("buf", handle)?;
        let mut buffers = buffer.data.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if *buffers == 0 {
            // Another thread has freed it meanwhile.
            return Err(unknown("buf", handle));
        }
        let content = *buffer.content();
        let further = self.add(buffer.data.clone(), content)?;
        *buffers += 1;
        Ok(further)
    }

    /// Puts a buffer at the end of a chain.
    pub(crate) fn append(&self, head: usize, handle: usize) -> Result<()> {
        self.get("head_buf", head)?;
        self.get("buf", handle)?;
        let mut chains = self.chains();
        let behind = chains.of(head)?.len();
        let is_chained = chains.first.contains_key(&handle) || chains.behind.contains_key(&handle);
        if head == handle || is_chained {
            return refuse(AclError::RT_PARAM_INVALID, "`buf` is in a chain already");
        }
        if behind + 1 >= MOST {
            return refuse(AclError::RT_PARAM_INVALID, format!("the chain has {MOST} buffers, and no more"));
        }
        chains.behind.entry(head).or_default().push(handle);
        chains.first.insert(handle, head);
        Ok(())
    }

    /// How many buffers a chain has.
    pub(crate) fn count(&self, head: usize) -> Result<u32> {
        self.get("head_buf", head)?;
        let behind = self.chains().of(head)?.len();
        Ok(u32::try_from(behind).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// A buffer of a chain; 0 is the first.
    pub(crate) fn at(&self, head: usize, index: u32) -> Result<usize> {
        self.get("head_buf", head)?;
        let chains = self.chains();
        let behind = chains.of(head)?;
        let place = (index as usize).checked_sub(1);
        place.map_or(Some(&head), |place| behind.get(place)).copied().ok_or_else(|| {
            let message = format!("`index` is {index}, and the chain has {} buffers", behind.len() + 1);
            Error::new(AclError::RT_PARAM_INVALID, message)
        })
    }
}

impl Runtime {
    /// Allocates a buffer.
    pub(crate) fn allocate_buffer(&self, size: usize) -> Result<usize> {
        if size > LONGEST {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("`size` is {size}, more than the {LONGEST} bytes that a buffer has at most"),
            );
        }
        let address = self.allocate_host(size as u64)?;
        let data = Arc::new(Data { address, size, buffers: Mutex::new(1) });
        let added = self.buffers.add(data, Content { length: 0, notes: [0; NOTES] });
        if added.is_err() {
            let _ = self.free_host(address, false);
        }
        added
    }

    /// Frees a buffer, and with the last one its memory.
    pub(crate) fn free_buffer(&self, handle: usize) -> Result<()> {
        let buffer = self.buffers.table.remove(handle).ok_or_else(|| unknown("buf", handle))?;
        self.buffers.chains().leave(handle);
        let left = {
            let mut buffers = buffer.data.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            *buffers -= 1;
            *buffers
        };
        if left == 0 { self.free_host(buffer.data.address, false) } else { Ok(()) }
    }
}

#[cold]
fn beyond(offset: usize, size: usize) -> Result<()> {
    refuse(
        AclError::RT_PARAM_INVALID,
        format!("`size`, {size}, and `offset`, {offset}, reach past the {NOTES} bytes of notes"),
    )
}
