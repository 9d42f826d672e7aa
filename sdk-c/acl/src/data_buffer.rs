//! Data buffers: records of where data lies. They own nothing, and nothing is looked at.

use std::sync::{Mutex, PoisonError};

use crate::api::AclError;
use crate::error::{Error, Result};
use crate::runtime::{Runtime, unknown_data};

/// An address and a length.
pub(crate) struct DataBuffer {
    pub(crate) handle: usize,
    content: Mutex<Content>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

impl Runtime {
    /// Writes an address and a length down.
    pub(crate) fn add_data_buffer(&self, address: usize, size: usize) -> Result<usize> {
        let content = Mutex::new(Content { address, size });
        let buffer = self.data_buffers.insert_with(|handle| DataBuffer { handle, content });
        buffer
            .map(|buffer| buffer.handle)
            .ok_or_else(|| Error::new(AclError::BAD_ALLOC, "a million data buffers are alive"))
    }

    /// Forgets them. The memory stays as it is.
    pub(crate) fn remove_data_buffer(&self, handle: usize) -> Result<()> {
        match self.data_buffers.remove(handle) {
            Some(_) => Ok(()),
            None => Err(unknown_data("data_buffer", handle)),
        }
    }

    /// Writes others in their place.
    pub(crate) fn change_data_buffer(&self, handle: usize, address: usize, size: usize) -> Result<()> {
        let Some(buffer) = self.data_buffers.get(handle) else {
            return Err(unknown_data("data_buffer", handle));
        };
        *buffer.content.lock().unwrap_or_else(PoisonError::into_inner) = Content { address, size };
        Ok(())
    }

    /// What was written down.
    pub(crate) fn data_buffer(&self, handle: usize) -> Result<Content> {
        match self.data_buffers.get(handle) {
            Some(buffer) => Ok(*buffer.content.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Err(unknown_data("data_buffer", handle)),
        }
    }
}
