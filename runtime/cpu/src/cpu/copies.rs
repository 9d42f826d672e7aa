//! Copies and fills.

use super::core::Core;
use super::streams::submit;
use super::{Cpu, refuse_inside_work};
use crate::error::Result;
use crate::executor::stream::StreamState;
use crate::executor::work::Work;
use crate::graph::Op;
use crate::memory::CopyKind;
use crate::memory::{Fill, Place, Transfer};
use std::sync::Arc;
use tenon::device::{DeviceId, Stream};
use tenon::{DevicePtr, HostPtr};

/// # Copies and fills
///
/// Device memory must lie inside one live allocation of the right device, or of unified memory;
/// pointers into the middle are fine. Does nothing for zero bytes, and does not check the pointers then.
/// Source and destination may overlap.
///
/// The calls without a stream wait for the device's default stream, then do the work before
/// they return. Those with a stream queue it; on an idle stream, work of up to [`crate::INLINE_BYTES`]
/// is done at once, which takes less time than waking a thread. Host memory that
/// [`Cpu::host_memory_allocate`] did not allocate cannot be checked, so the calls that access it later
/// are `unsafe`.
impl Cpu {
    /// Copies from the host to the device in the order of the stream.
    ///
    /// # Safety
    /// `size` bytes at `src` must stay readable, and unchanged, until the stream has passed the
    /// copy; if the stream is captured, for as long as the graph can be launched. Memory of
    /// [`Cpu::host_memory_allocate`] is exempt, because it is checked.
    ///
    /// # Errors
    /// [`crate::Error::NullPointer`], [`crate::Error::UnknownPointer`], [`crate::Error::OutOfBounds`], [`crate::Error::PointerOnOtherDevice`],
    /// [`crate::Error::WrongSpace`], [`crate::Error::InvalidHandle`], [`crate::Error::WrongDevice`].
    pub unsafe fn async_memory_copy_h2d(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: DevicePtr,
        src: HostPtr,
        size: usize,
    ) -> Result<()> {
        copy_later(self.core()?, device, stream, to_device(device, dst, src.addr(), size))
    }

    /// Copies from the device to the host in the order of the stream.
    ///
    /// # Safety
    /// `size` bytes at `dst` must stay writable, and nothing else may access them, until the stream
    /// has passed the copy; if the stream is captured, whenever the graph runs. Memory of
    /// [`Cpu::host_memory_allocate`] is exempt, because it is checked.
    ///
    /// # Errors
    /// As [`Cpu::async_memory_copy_h2d`].
    pub unsafe fn async_memory_copy_d2h(
        &self,
        device: DeviceId,
        stream: Stream,
        dst: HostPtr,
        src: DevicePtr,
        size: usize,
    ) -> Result<()> {
        copy_later(self.core()?, device, stream, to_host(device, dst.addr(), src, size))
    }
}

pub(super) fn to_device(device: DeviceId, dst: DevicePtr, src: usize, size: usize) -> Transfer {
    Transfer {
        kind: CopyKind::HostToDevice,
        dst: Place::Device { device, ptr: dst.addr() },
        src: Place::Host(src),
        size,
    }
}

pub(super) fn to_host(device: DeviceId, dst: usize, src: DevicePtr, size: usize) -> Transfer {
    Transfer {
        kind: CopyKind::DeviceToHost,
        dst: Place::Host(dst),
        src: Place::Device { device, ptr: src.addr() },
        size,
    }
}

pub(super) fn within(device: DeviceId, dst: DevicePtr, src: DevicePtr, size: usize) -> Transfer {
    Transfer {
        kind: CopyKind::DeviceToDevice,
        dst: Place::Device { device, ptr: dst.addr() },
        src: Place::Device { device, ptr: src.addr() },
        size,
    }
}

pub(super) fn between(
    dst_device: DeviceId,
    src_device: DeviceId,
    dst: DevicePtr,
    src: DevicePtr,
    size: usize,
) -> Transfer {
    Transfer {
        kind: CopyKind::PeerToPeer,
        dst: Place::Device { device: dst_device, ptr: dst.addr() },
        src: Place::Device { device: src_device, ptr: src.addr() },
        size,
    }
}

pub(super) fn copy_now(core: &Core, device: DeviceId, transfer: Transfer) -> Result<()> {
    let stream = wait_for_default(core, device, transfer.kind.call())?;
    do_now(core, stream, transfer.prepare(&core.registry)?);
    Ok(())
}

pub(super) fn copy_later(core: &Core, device: DeviceId, stream: Stream, transfer: Transfer) -> Result<()> {
    let stream = core.stream(device, stream)?;
    match transfer.prepare(&core.registry)? {
        Some(work) => submit(&stream, work, |_| Some(Op::Copy(transfer))),
        None => Ok(()),
    }
}

pub(super) fn fill_later(core: &Core, stream: Stream, fill: Fill) -> Result<()> {
    let stream = core.stream(fill.device, stream)?;
    match fill.prepare(&core.registry)? {
        Some(work) => submit(&stream, work, |_| Some(Op::Fill(fill))),
        None => Ok(()),
    }
}

pub(super) fn wait_for_default<'a>(
    core: &'a Core,
    device: DeviceId,
    call: &'static str,
) -> Result<&'a Arc<StreamState>> {
    let state = core.device(device)?;
    refuse_inside_work(call)?;
    if !state.load.is_idle() {
        state.default_stream.synchronize();
    }
    Ok(&state.default_stream)
}

pub(super) fn do_now(core: &Core, stream: &StreamState, work: Option<Work>) {
    if let Some(work) = work {
        work.execute(&core.shared, stream);
    }
}
