//! Copies: looks up where both ends are, and chooses the device's copy function.

use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};
use tenon::{DevicePtr, HostPtr};

use crate::api::{AclError, MemcpyKind};
use crate::device::peers;
use crate::error::{Error, Result, refuse, unknown_value};
use crate::state::State;
use crate::state::blocks::{Place, expect_fits};
use crate::state::session::DeviceSession;
use crate::state::stream::Stream;
use crate::stream::completion;

/// The direction of a copy, as the program states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// True if the destination is device memory; `None`: its address decides.
    pub(crate) to_device: Option<bool>,
    /// The same for the source.
    pub(crate) from_device: Option<bool>,
}

impl Direction {
    /// Returns the direction of a kind of copy.
    pub(crate) fn of(kind: MemcpyKind) -> Result<Self> {
        let (from, to) = match kind {
            MemcpyKind::HOST_TO_HOST => (Some(false), Some(false)),
            MemcpyKind::HOST_TO_DEVICE | MemcpyKind::HOST_TO_BUF_TO_DEVICE => (Some(false), Some(true)),
            MemcpyKind::DEVICE_TO_HOST => (Some(true), Some(false)),
            MemcpyKind::DEVICE_TO_DEVICE
            | MemcpyKind::INNER_DEVICE_TO_DEVICE
            | MemcpyKind::INTER_DEVICE_TO_DEVICE => (Some(true), Some(true)),
            MemcpyKind::DEFAULT => (None, None),
            MemcpyKind(other) => return unknown_value("kind", other),
        };
        Ok(Direction { to_device: to, from_device: from })
    }

    /// Returns the direction of a kind of copy that supports rectangles.
    pub(crate) fn of_rectangle(kind: MemcpyKind) -> Result<Self> {
        let direction = Self::of(kind)?;
        match kind {
            MemcpyKind::HOST_TO_DEVICE
            | MemcpyKind::DEVICE_TO_HOST
            | MemcpyKind::DEVICE_TO_DEVICE
            | MemcpyKind::DEFAULT => Ok(direction),
            _ => refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`kind` is {kind:?}, which is not a valid kind for rectangles"),
            ),
        }
    }
}

/// The location of a source or destination.
#[derive(Clone)]
enum Side {
    Device(Arc<DeviceSession>),
    /// Device memory that the host can access: managed memory, and mapped memory, which the device does not know. The
    /// host makes the copy unless the other side is plain device memory.
    Shared,
    /// Host memory that stays valid until the program frees or unregisters it.
    Pinned,
    Pageable,
}

/// A copy with checked ranges, between devices that have peer access.
#[derive(Clone)]
struct Copy {
    dst: usize,
    to: Side,
    src: usize,
    from: Side,
}

/// The rows of a rectangle. A plain copy has one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) dst_pitch: usize,
    pub(crate) src_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Rows {
    /// Returns the single row of a plain copy.
    pub(crate) fn one(width: usize) -> Self {
        Rows { dst_pitch: width, src_pitch: width, width, height: 1 }
    }

    /// Returns the single row of a plain copy, if it fits the destination.
    pub(crate) fn within(room: usize, width: usize) -> Result<Self> {
        if width > room {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{width} bytes exceed the {room} bytes at the destination"),
            );
        }
        Ok(Rows::one(width))
    }

    fn check(self) -> Result<Self> {
        for (name, pitch) in [("dpitch", self.dst_pitch), ("spitch", self.src_pitch)] {
            if pitch < self.width {
                return refuse(
                    AclError::RT_PARAM_INVALID,
                    format!("`width` is {}, more than `{name}`, {pitch}", self.width),
                );
            }
        }
        // Rows without gaps between them are one row.
        if self.dst_pitch == self.width && self.src_pitch == self.width {
            let width = self.width.checked_mul(self.height).ok_or_else(|| self.too_long())?;
            return Ok(Rows::one(width));
        }
        Ok(self)
    }

    fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Returns the number of bytes from the first row to the end of the last one.
    fn span(self, pitch: usize) -> Result<usize> {
        let last = (self.height - 1).checked_mul(pitch);
        last.and_then(|last| last.checked_add(self.width)).ok_or_else(|| self.too_long())
    }

    #[cold]
    fn too_long(self) -> Error {
        let Rows { width, height, .. } = self;
        Error::new(
            AclError::RT_PARAM_INVALID,
            format!("{height} rows of {width} bytes exceed the address space"),
        )
    }
}

/// Looks up the location of a source or destination.
///
/// An unknown address is host memory, unless the program says that it is device memory. In that case the device
/// decides: it may know the memory from another source.
fn side(
    state: &State,
    param: &str,
    address: usize,
    size: usize,
    is_device: Option<bool>,
    current: &Arc<DeviceSession>,
) -> Result<Side> {
    if size > isize::MAX as usize || address.checked_add(size).is_none() {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("{size} bytes from `{param}` exceed the address space"),
        );
    }
    let Some(block) = state.blocks.find(address) else {
        return Ok(if is_device == Some(true) { Side::Device(current.clone()) } else { Side::Pageable });
    };
    expect_fits(param, &block, address, size)?;
    Ok(match block.place {
        Place::Device | Place::Pooled => Side::Device(block.lease.session.clone()),
        Place::Mapped | Place::Imported(_) | Place::Managed(_) => Side::Shared,
        Place::Pinned | Place::Registered { .. } => Side::Pinned,
        Place::Pageable(_) => Side::Pageable,
    })
}

fn plan(
    state: &State,
    dst: usize,
    src: usize,
    rows: Rows,
    direction: Direction,
) -> Result<Option<(Copy, Rows)>> {
    let context = state.context()?;
    for (name, address) in [("dst", dst), ("src", src)] {
        if address == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{name}` is null"));
        }
    }
    let rows = rows.check()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let session = &context.lease.session;
    let to = side(state, "dst", dst, rows.span(rows.dst_pitch)?, direction.to_device, session)?;
    let from = side(state, "src", src, rows.span(rows.src_pitch)?, direction.from_device, session)?;
    if let (Side::Device(to), Side::Device(from)) = (&to, &from) {
        peers::expect_peers(state, to.ordinal, from.ordinal)?;
    }
    Ok(Some((Copy { dst, to, src, from }, rows)))
}

/// Copies memory and waits until the copy is complete.
pub(crate) fn copy(state: &State, dst: usize, src: usize, rows: Rows, direction: Direction) -> Result<()> {
    let Some((copy, rows)) = plan(state, dst, src, rows, direction)? else { return Ok(()) };
    copy.rows(rows, Copy::now)
}

/// Copies in stream order. A copy within the host fails, or is made after waiting for the stream.
pub(crate) fn copy_on(
    state: &State,
    stream: usize,
    (dst, src): (usize, usize),
    rows: Rows,
    direction: Direction,
    allows_host_to_host: bool,
) -> Result<()> {
    let stream = state.stream(stream)?;
    let Some((copy, rows)) = plan(state, dst, src, rows, direction)? else { return Ok(()) };
    if !matches!(copy.to, Side::Device(_)) && !matches!(copy.from, Side::Device(_)) {
        if allows_host_to_host {
            stream.synchronize(None)?;
            return copy.rows(rows, Copy::now);
        }
        if matches!(copy.to, Side::Shared) || matches!(copy.from, Side::Shared) {
            return copy.by_host_on(&stream, rows);
        }
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            "`dst` and `src` are both host memory, which streams do not copy",
        );
    }
    if !copy.uses_memory_of(&stream.session) {
        // Neither device knows both the stream and the memory, so the host waits.
        stream.synchronize(None)?;
        return copy.rows(rows, Copy::now);
    }
    if matches!(copy.to, Side::Pageable) || matches!(copy.from, Side::Pageable) {
        // The program may free pageable memory after the call returns, so the copy must be submitted to the device
        // before.
        return stream.submit_now(|stream| copy.rows(rows, |copy, size| copy.queue(stream, size)));
    }
    stream.submit(move |stream| copy.rows(rows, |copy, size| copy.queue(stream, size)))
}

impl Copy {
    /// Returns true if a side is memory of this device.
    fn uses_memory_of(&self, session: &Arc<DeviceSession>) -> bool {
        [&self.to, &self.from].iter().any(|side| matches!(side, Side::Device(of) if Arc::ptr_eq(of, session)))
    }

    /// Lets the host make the copy in stream order.
    fn by_host_on(self, stream: &Arc<Stream>, rows: Rows) -> Result<()> {
        if matches!(self.to, Side::Pageable) || matches!(self.from, Side::Pageable) {
            stream.synchronize(None)?;
            return self.rows(rows, Copy::now);
        }
        completion::run_in_order(stream, move |_| self.rows(rows, Copy::now))
    }

    /// Copies row by row.
    fn rows(&self, rows: Rows, mut one: impl FnMut(&Copy, usize) -> Result<()>) -> Result<()> {
        let mut row = self.clone();
        for index in 0..rows.height {
            // Cannot overflow: both sums are inside the checked ranges.
            row.dst = self.dst + index * rows.dst_pitch;
            row.src = self.src + index * rows.src_pitch;
            one(&row, rows.width)?;
        }
        Ok(())
    }

    /// Copies a row synchronously.
    fn now(&self, size: usize) -> Result<()> {
        let (dst, src) = (HostPtr::from_addr(self.dst), HostPtr::from_addr(self.src));
        let (to, from) = (DevicePtr::from_addr(self.dst), DevicePtr::from_addr(self.src));
        match (&self.to, &self.from) {
            (Side::Device(session), Side::Device(other)) if session.ordinal == other.ordinal => {
                session.call(|device, id| device.memory_copy_d2d(id, to, from, size))
            }
            (Side::Device(session), Side::Device(other)) => {
                between(session, other, |device, id, of| device.memory_copy_p2p(id, of, to, from, size))
            }
            (Side::Device(session), _) => {
                // SAFETY: the caller promises that the memory is valid; ranges of known blocks were checked.
                let src = unsafe { src.bytes(size) };
                session.call(|device, id| device.memory_copy_h2d(id, to, src))
            }
            (_, Side::Device(session)) => {
                // SAFETY: as above.
                let dst = unsafe { dst.bytes_mut(size) };
                session.call(|device, id| device.memory_copy_d2h(id, dst, from))
            }
            _ => {
                // SAFETY: as above; the ranges may overlap.
                unsafe { dst.as_ptr().cast::<u8>().copy_from(src.as_ptr().cast::<u8>(), size) };
                Ok(())
            }
        }
    }

    /// Queues the copy of a row.
    fn queue(&self, stream: &Stream, size: usize) -> Result<()> {
        let raw = stream.raw;
        let (dst, src) = (HostPtr::from_addr(self.dst), HostPtr::from_addr(self.src));
        let (to, from) = (DevicePtr::from_addr(self.dst), DevicePtr::from_addr(self.src));
        match (&self.to, &self.from) {
            (Side::Device(session), Side::Device(other)) if session.ordinal == other.ordinal => {
                session.call(|device, id| device.async_memory_copy_d2d(id, raw, to, from, size))
            }
            (Side::Device(session), Side::Device(other)) => between(session, other, |device, id, of| {
                device.async_memory_copy_p2p(id, of, raw, to, from, size)
            }),
            (Side::Device(session), _) => {
                session.call(|device, id| device.async_memory_copy_h2d(id, raw, to, src, size))
            }
            (_, Side::Device(session)) => {
                session.call(|device, id| device.async_memory_copy_d2h(id, raw, dst, from, size))
            }
            _ => Ok(()),
        }
    }
}

/// Calls the first of two devices with the id of the second one, which stays open during the call.
fn between(
    session: &DeviceSession,
    other: &DeviceSession,
    body: impl FnOnce(&dyn Device, DeviceId, DeviceId) -> device::Result<()>,
) -> Result<()> {
    other.call(|_, of| session.call_raw(|device, id| body(device, id, of)))
}
