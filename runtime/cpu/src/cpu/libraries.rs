//! Handles of numerical libraries.
//!
//! The CPU device has no such library. Hosts ask for a handle before they launch kernels, so they
//! get one that records its library, stream and math mode. The handles of all libraries share one
//! table and are numbers here.

use super::Cpu;
use super::core::check_device;
use crate::error::Result;
use crate::handle::HandleKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use tenon::device::Stream;

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
    stream: Stream,
    math_mode: AtomicI32,
}

/// # Library handles
impl Cpu {
    /// Creates a handle of a library for use on the stream.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`] for the stream.
    pub fn create_library_handle(&self, device: usize, library: Library, stream: Stream) -> Result<usize> {
        let core = self.core()?;
        core.stream(device, stream)?;
        let state = LibraryState { library, device, stream, math_mode: AtomicI32::new(0) };
        Ok(core.libraries.insert_with(|_| Arc::new(state)))
    }

    /// The library and the stream that a handle was made for.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn library_handle_info(&self, device: usize, handle: usize) -> Result<(Library, Stream)> {
        let state = self.library(device, handle)?;
        Ok((state.library, state.stream))
    }

    /// Keeps a math mode with the handle; what the number means is the host's business.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn set_math_mode(&self, device: usize, handle: usize, mode: i32) -> Result<()> {
        self.library(device, handle)?.math_mode.store(mode, Ordering::Relaxed);
        Ok(())
    }

    /// The math mode last set; zero until then.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn math_mode(&self, device: usize, handle: usize) -> Result<i32> {
        Ok(self.library(device, handle)?.math_mode.load(Ordering::Relaxed))
    }

    /// Destroys a handle.
    ///
    /// # Errors
    /// [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub fn destroy_library_handle(&self, device: usize, handle: usize) -> Result<()> {
        let core = self.core()?;
        core.device(device)?;
        core.libraries
            .remove_if(handle, |state| check_device(HandleKind::Library, handle, state.device, device))?;
        Ok(())
    }

    fn library(&self, device: usize, handle: usize) -> Result<Arc<LibraryState>> {
        let core = self.core()?;
        core.device(device)?;
        let state = core.libraries.get(handle)?;
        check_device(HandleKind::Library, handle, state.device, device)?;
        Ok(state)
    }
}
