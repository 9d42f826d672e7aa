//! Handles of numerical libraries.
//!
//! The CPU device does not have such a library. Hosts create a handle before they launch kernels, so they get
//! a valid handle without content. The handles of all libraries share one table and are numbers here.

use super::Cpu;
use super::core::check_device;
use crate::error::Result;
use crate::handle::HandleKind;
use tenon::device::{DeviceId, Stream};

pub(super) struct LibraryState {
    device: DeviceId,
}

impl Cpu {
    pub(super) fn create_library_handle(&self, device: DeviceId, stream: Stream) -> Result<usize> {
        let core = self.core()?;
        core.stream(device, stream)?;
        core.libraries.insert_with(|_| LibraryState { device }.into())
    }

    pub(super) fn check_library_handle(&self, device: DeviceId, handle: usize) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        check_device(HandleKind::Library, handle, core.libraries.get(handle)?.device, device)
    }

    pub(super) fn destroy_library_handle(&self, device: DeviceId, handle: usize) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        core.libraries
            .remove_if(handle, |state| check_device(HandleKind::Library, handle, state.device, device))?;
        Ok(())
    }
}
