//! Copies and fills.

use super::core::Core;
use super::streams::submit;
use super::{Cpu, refuse_inside_work};
use crate::error::{Error, Result};
use crate::executor::stream::StreamState;
use crate::executor::work::{CopyKind, Work};
use crate::graph::Op;
use crate::memory::{Fill, Place, Transfer};
use std::sync::Arc;
use tenon::device::Stream;
use tenon::{DevicePtr, HostPtr};

/// # Copies and fills
///
/// Device memory must lie inside one live allocation of the right device, or of unified memory;
/// pointers into the middle are fine. Nothing is done for zero bytes, whatever the pointers.
/// Source and destination may overlap.
///
/// The calls without a stream wait for the device's default stream, then do the work before
/// they return. Those with a stream queue it; up to [`crate::INLINE_BYTES`] on an idle stream
/// they do it at once, which costs less than to wake a thread. Host memory of other origin than
/// [`Cpu::host_memory_allocate`] cannot be checked, so the calls that keep hold of it are
/// `unsafe`.
impl Cpu {
    /// Copies from the host to the device.
    ///
    /// # Errors
    /// [`Error::NullPointer`], [`Error::UnknownPointer`], [`Error::OutOfBounds`],
    /// [`Error::PointerOnOtherDevice`], [`Error::WrongSpace`], [`Error::BlockingInCallback`].
    pub fn memory_copy_h2d(&self, device: usize, dst: DevicePtr, src: &[u8]) -> Result<()> {
        let core = self.core()?;
        let transfer = Transfer {
            kind: CopyKind::HostToDevice,
            dst: Place::Device { device, ptr: dst.addr() },
            src: Place::Host(src.as_ptr() as usize),
            size: src.len(),
        };
        copy_now(core, device, transfer)
    }

    /// Copies from the device to the host.
    ///
    /// # Errors
    /// As [`Cpu::memory_copy_h2d`].
    pub fn memory_copy_d2h(&self, device: usize, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        let core = self.core()?;
        let transfer = Transfer {
            kind: CopyKind::DeviceToHost,
            dst: Place::Host(dst.as_mut_ptr() as usize),
            src: Place::Device { device, ptr: src.addr() },
            size: dst.len(),
        };
        copy_now(core, device, transfer)
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// As [`Cpu::memory_copy_h2d`].
    pub fn memory_copy_d2d(&self, device: usize, dst: DevicePtr, src: DevicePtr, size: usize) -> Result<()> {
        copy_now(self.core()?, device, within(device, dst, src, size))
    }

    /// Copies from one device to another, waiting for the default streams of both.
    ///
    /// # Errors
    /// As [`Cpu::memory_copy_h2d`].
    pub fn memory_copy_p2p(
        &self,
        dst_device: usize,
        src_device: usize,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        let core = self.core()?;
        let transfer = between(dst_device, src_device, dst, src, size);
        core.device(dst_device)?;
        wait_for_default(core, src_device, "memory_copy_p2p")?;
        copy_now(core, dst_device, transfer)
    }

    /// Sets every byte of a range of device memory.
    ///
    /// # Errors
    /// As [`Cpu::memory_copy_h2d`].
    pub fn device_memory_set(&self, device: usize, ptr: DevicePtr, value: u8, size: usize) -> Result<()> {
        let core = self.core()?;
        let stream = wait_for_default(core, device, "device_memory_set")?;
        let fill = Fill { device, ptr: ptr.addr(), value, size };
        do_now(core, stream, fill.prepare(&core.registry)?);
        Ok(())
    }

    /// Copies from the host to the device in the order of the stream.
    ///
    /// # Safety
    /// `size` bytes at `src` must stay readable, and unchanged, until the stream has passed the
    /// copy; if the stream is captured, for as long as the graph can be launched. This does not
    /// concern memory of [`Cpu::host_memory_allocate`], which is checked.
    ///
    /// # Errors
    /// As [`Cpu::memory_copy_h2d`], and [`Error::InvalidHandle`], [`Error::WrongDevice`].
    pub unsafe fn async_memory_copy_h2d(
        &self,
        device: usize,
        stream: Stream,
        dst: DevicePtr,
        src: HostPtr,
        size: usize,
    ) -> Result<()> {
        let transfer = Transfer {
            kind: CopyKind::HostToDevice,
            dst: Place::Device { device, ptr: dst.addr() },
            src: Place::Host(src.addr()),
            size,
        };
        copy_later(self.core()?, device, stream, transfer)
    }

    /// Copies from the device to the host in the order of the stream.
    ///
    /// # Safety
    /// `size` bytes at `dst` must stay writable, and nobody else may use them, until the stream
    /// has passed the copy; if the stream is captured, whenever the graph runs. This does not
    /// concern memory of [`Cpu::host_memory_allocate`], which is checked.
    ///
    /// # Errors
    /// As [`Cpu::async_memory_copy_h2d`].
    pub unsafe fn async_memory_copy_d2h(
        &self,
        device: usize,
        stream: Stream,
        dst: HostPtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        let transfer = Transfer {
            kind: CopyKind::DeviceToHost,
            dst: Place::Host(dst.addr()),
            src: Place::Device { device, ptr: src.addr() },
            size,
        };
        copy_later(self.core()?, device, stream, transfer)
    }

    /// Copies within the device in the order of the stream.
    ///
    /// # Errors
    /// As [`Cpu::async_memory_copy_h2d`].
    pub fn async_memory_copy_d2d(
        &self,
        device: usize,
        stream: Stream,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        copy_later(self.core()?, device, stream, within(device, dst, src, size))
    }

    /// Copies from one device to another in the order of a stream of either; the default stream
    /// is that of the destination.
    ///
    /// # Errors
    /// As [`Cpu::async_memory_copy_h2d`]; [`Error::WrongDevice`] if the stream is of a third.
    pub fn async_memory_copy_p2p(
        &self,
        dst_device: usize,
        src_device: usize,
        stream: Stream,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        let core = self.core()?;
        core.device(src_device)?;
        let transfer = between(dst_device, src_device, dst, src, size);
        let device = match core.stream(dst_device, stream) {
            Err(Error::WrongDevice { owner, .. }) if owner == src_device => src_device,
            _ => dst_device,
        };
        copy_later(core, device, stream, transfer)
    }

    /// Sets every byte of a range of device memory in the order of the stream.
    ///
    /// # Errors
    /// As [`Cpu::async_memory_copy_h2d`].
    pub fn async_device_memory_set(
        &self,
        device: usize,
        stream: Stream,
        ptr: DevicePtr,
        value: u8,
        size: usize,
    ) -> Result<()> {
        let core = self.core()?;
        let stream = core.stream(device, stream)?;
        let fill = Fill { device, ptr: ptr.addr(), value, size };
        match fill.prepare(&core.registry)? {
            Some(work) => submit(&stream, work, |_| Some(Op::Fill(fill))),
            None => Ok(()),
        }
    }
}

fn within(device: usize, dst: DevicePtr, src: DevicePtr, size: usize) -> Transfer {
    Transfer {
        kind: CopyKind::DeviceToDevice,
        dst: Place::Device { device, ptr: dst.addr() },
        src: Place::Device { device, ptr: src.addr() },
        size,
    }
}

fn between(dst_device: usize, src_device: usize, dst: DevicePtr, src: DevicePtr, size: usize) -> Transfer {
    Transfer {
        kind: CopyKind::PeerToPeer,
        dst: Place::Device { device: dst_device, ptr: dst.addr() },
        src: Place::Device { device: src_device, ptr: src.addr() },
        size,
    }
}

fn copy_now(core: &Core, device: usize, transfer: Transfer) -> Result<()> {
    let stream = wait_for_default(core, device, transfer.kind.call())?;
    do_now(core, stream, transfer.prepare(&core.registry)?);
    Ok(())
}

fn copy_later(core: &Core, device: usize, stream: Stream, transfer: Transfer) -> Result<()> {
    let stream = core.stream(device, stream)?;
    match transfer.prepare(&core.registry)? {
        Some(work) => submit(&stream, work, |_| Some(Op::Copy(transfer))),
        None => Ok(()),
    }
}

fn wait_for_default<'a>(core: &'a Core, device: usize, call: &'static str) -> Result<&'a Arc<StreamState>> {
    let state = core.device(device)?;
    refuse_inside_work(call)?;
    if !state.load.is_idle() {
        state.default_stream.synchronize();
    }
    Ok(&state.default_stream)
}

fn do_now(core: &Core, stream: &StreamState, work: Option<Work>) {
    if let Some(work) = work {
        work.execute(&core.shared, stream);
    }
}
