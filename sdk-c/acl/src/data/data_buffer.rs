//! Data buffers: records of an address and a length. They neither own nor access the memory.

use std::sync::Arc;
use tenon::support::Mutex;

use tenon::handle::HandleTable;

use crate::api::AclError;
use crate::error::{Error, Result, unknown_data_handle};
use crate::state::handles::HandleKind;

/// An address and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) address: usize,
    pub(crate) size: usize,
}

struct DataBuffer {
    extent: Mutex<Extent>,
}

/// All data buffers of the program.
pub(crate) struct DataBuffers(HandleTable<DataBuffer>);

impl Default for DataBuffers {
    fn default() -> Self {
        DataBuffers(HandleTable::new(HandleKind::DataBuffer as u8))
    }
}

impl DataBuffers {
    fn find(&self, handle: usize) -> Result<Arc<DataBuffer>> {
        self.0.get(handle).ok_or_else(|| unknown_data_handle("data_buffer", handle))
    }

    /// Creates a data buffer.
    pub(crate) fn create(&self, extent: Extent) -> Result<usize> {
        let buffer = self.0.insert_with(|_| DataBuffer { extent: Mutex::new(extent) });
        buffer
            .map(|(handle, _)| handle)
            .ok_or_else(|| Error::new(AclError::BAD_ALLOC, "16 million data buffers exist already"))
    }

    /// Destroys a data buffer. Does not change the memory.
    pub(crate) fn destroy(&self, handle: usize) -> Result<()> {
        self.0.remove(handle).map(drop).ok_or_else(|| unknown_data_handle("data_buffer", handle))
    }

    /// Replaces the address and the length.
    pub(crate) fn set(&self, handle: usize, extent: Extent) -> Result<()> {
        *self.find(handle)?.extent.lock() = extent;
        Ok(())
    }

    /// Returns the address and the length.
    pub(crate) fn get(&self, handle: usize) -> Result<Extent> {
        Ok(*self.find(handle)?.extent.lock())
    }
}
