//! Handles of numerical libraries. The CPU device has no such library; hosts want a handle
//! before they launch kernels, so they get one that remembers what it was made for.

use super::Cpu;
use super::core::check_device;
use crate::error::Result;
use crate::handle::{HandleKind, LibraryHandle, StreamHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Which library a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Library {
    /// BLAS.
    Blas,
    /// The lightweight BLAS.
    BlasLt,
    /// Eigen.
    Eigen,
}

pub(super) struct LibraryState {
    library: Library,
    device: usize,
    stream: StreamHandle,
    math_mode: AtomicI32,
}

/// # Library handles
impl Cpu {
    /// Creates a handle of a library for use on the stream.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`] for the stream.
    pub fn create_library_handle(
        &self,
        device: usize,
        library: Library,
        stream: StreamHandle,
    ) -> Result<LibraryHandle> {
        let core = self.core()?;
        core.stream(device, stream)?;
        let state = LibraryState { library, device, stream, math_mode: AtomicI32::new(0) };
        Ok(LibraryHandle(core.libraries.insert_with(|_| Arc::new(state))))
    }

    /// The library and the stream that a handle was made for.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn library_handle_info(
        &self,
        device: usize,
        handle: LibraryHandle,
    ) -> Result<(Library, StreamHandle)> {
        let state = self.library(device, handle)?;
        Ok((state.library, state.stream))
    }

    /// Keeps a math mode with the handle; what the number means is the host's business.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn set_math_mode(&self, device: usize, handle: LibraryHandle, mode: i32) -> Result<()> {
        self.library(device, handle)?.math_mode.store(mode, Ordering::Relaxed);
        Ok(())
    }

    /// The math mode last set; zero until then.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn math_mode(&self, device: usize, handle: LibraryHandle) -> Result<i32> {
        Ok(self.library(device, handle)?.math_mode.load(Ordering::Relaxed))
    }

    /// Destroys a handle.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn destroy_library_handle(&self, device: usize, handle: LibraryHandle) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        core.libraries
            .remove_if(handle.0, |state| check_device(HandleKind::Library, handle.0, state.device, device))?;
        Ok(())
    }

    fn library(&self, device: usize, handle: LibraryHandle) -> Result<Arc<LibraryState>> {
        let core = self.core()?;
        core.device(device)?;
        let state = core.libraries.get(handle.0)?;
        check_device(HandleKind::Library, handle.0, state.device, device)?;
        Ok(state)
    }
}
