//! Copies: what lies where, and which of the device's copies that asks for.

use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};
use tenon::{DevicePtr, HostPtr};

use crate::api::{AclError, MemcpyKind};
use crate::arrival;
use crate::block::{Place, fits};
use crate::error::{Error, Result, refuse};
use crate::home::Unit;
use crate::info::no_such;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// What a program says about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Whether the destination is the device's; `None`: as its address says.
    pub(crate) to_device: Option<bool>,
    /// Whether the source is.
    pub(crate) from_device: Option<bool>,
}

impl Claim {
    /// The claim of a kind of copy.
    pub(crate) fn of(kind: MemcpyKind) -> Result<Self> {
        let (from, to) = match kind {
            MemcpyKind::HOST_TO_HOST => (Some(false), Some(false)),
            MemcpyKind::HOST_TO_DEVICE | MemcpyKind::HOST_TO_BUF_TO_DEVICE => (Some(false), Some(true)),
            MemcpyKind::DEVICE_TO_HOST => (Some(true), Some(false)),
            MemcpyKind::DEVICE_TO_DEVICE
            | MemcpyKind::INNER_DEVICE_TO_DEVICE
            | MemcpyKind::INTER_DEVICE_TO_DEVICE => (Some(true), Some(true)),
            MemcpyKind::DEFAULT => (None, None),
            MemcpyKind(other) => return no_such("kind", other),
        };
        Ok(Claim { to_device: to, from_device: from })
    }

    /// The claim of a kind of copy that rectangles have.
    pub(crate) fn of_rectangle(kind: MemcpyKind) -> Result<Self> {
        let claim = Self::of(kind)?;
        match kind {
            MemcpyKind::HOST_TO_DEVICE
            | MemcpyKind::DEVICE_TO_HOST
            | MemcpyKind::DEVICE_TO_DEVICE
            | MemcpyKind::DEFAULT => Ok(claim),
            _ => refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                format!("`kind` is {kind:?}, which is no kind for rectangles"),
            ),
        }
    }
}

/// Where an end of a copy lies.
#[derive(Clone)]
enum Spot {
    Device(Arc<Unit>),
    /// Memory of a device's that is the host's as well: managed memory, and physical memory that was put behind addresses,
    /// which the device does not know. Where the other end is not the device's own, the host copies.
    Shared,
    /// Host memory that stays where it is until the program gives it back.
    Pinned,
    Pageable,
}

/// A copy that can be made: ranges are checked, and of two devices each may reach the other.
#[derive(Clone)]
pub(crate) struct Copy {
    dst: usize,
    to: Spot,
    src: usize,
    from: Spot,
}

/// Rows of a rectangle; a plain copy is one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) dst_pitch: usize,
    pub(crate) src_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Rows {
    /// A plain copy.
    pub(crate) fn one(width: usize) -> Self {
        Rows { dst_pitch: width, src_pitch: width, width, height: 1 }
    }

    /// A plain copy, if there is room for it.
    pub(crate) fn within(room: usize, width: usize) -> Result<Self> {
        if width > room {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{width} bytes are more than the {room} bytes of room at the destination"),
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
        // Rows that follow each other without a gap are one.
        if self.dst_pitch == self.width && self.src_pitch == self.width {
            let width = self.width.checked_mul(self.height).ok_or_else(|| self.too_long())?;
            return Ok(Rows::one(width));
        }
        Ok(self)
    }

    fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// From the first byte to the last.
    fn span(self, pitch: usize) -> Result<usize> {
        let last = (self.height - 1).checked_mul(pitch);
        last.and_then(|last| last.checked_add(self.width)).ok_or_else(|| self.too_long())
    }

    #[cold]
    fn too_long(self) -> Error {
        let Rows { width, height, .. } = self;
        Error::new(
            AclError::RT_PARAM_INVALID,
            format!("{height} rows of {width} bytes reach past the address space"),
        )
    }
}

impl Runtime {
    /// Looks up where the ends of a copy lie.
    ///
    /// An address that is not known is the host's, unless the program says that it is the device's: then it may be memory
    /// that the device knows from elsewhere, and the device says so or refuses it.
    fn spot(
        &self,
        param: &str,
        address: usize,
        size: usize,
        is_device: Option<bool>,
        current: &Arc<Unit>,
    ) -> Result<Spot> {
        if size > isize::MAX as usize || address.checked_add(size).is_none() {
            return refuse(
                AclError::RT_PARAM_INVALID,
                format!("{size} bytes from `{param}` reach past the address space"),
            );
        }
        let Some(block) = self.memory.find(address) else {
            return Ok(if is_device == Some(true) { Spot::Device(current.clone()) } else { Spot::Pageable });
        };
        fits(param, &block, address, size)?;
        Ok(match block.place {
            Place::Device => Spot::Device(block.lease.unit.clone()),
            Place::Mapped | Place::Managed(_) => Spot::Shared,
            Place::Pinned | Place::Registered { .. } => Spot::Pinned,
            Place::Own(_) => Spot::Pageable,
        })
    }

    fn plan(&self, dst: usize, src: usize, rows: Rows, claim: Claim) -> Result<Option<(Copy, Rows)>> {
        let context = self.context()?;
        for (name, address) in [("dst", dst), ("src", src)] {
            if address == 0 {
                return refuse(AclError::INVALID_PARAM, format!("`{name}` is null"));
            }
        }
        let rows = rows.check()?;
        if rows.is_empty() {
            return Ok(None);
        }
        let unit = &context.lease.unit;
        let to = self.spot("dst", dst, rows.span(rows.dst_pitch)?, claim.to_device, unit)?;
        let from = self.spot("src", src, rows.span(rows.src_pitch)?, claim.from_device, unit)?;
        if let (Spot::Device(to), Spot::Device(from)) = (&to, &from) {
            self.expect_peers(to.ordinal, from.ordinal)?;
        }
        Ok(Some((Copy { dst, to, src, from }, rows)))
    }

    /// Copies, and returns when it is done.
    pub(crate) fn copy(&self, dst: usize, src: usize, rows: Rows, claim: Claim) -> Result<()> {
        let Some((copy, rows)) = self.plan(dst, src, rows, claim)? else { return Ok(()) };
        copy.rows(rows, Copy::now)
    }

    /// Copies in the order of a stream. Copies within the host are refused, or made once the stream is done.
    pub(crate) fn copy_on(
        &self,
        stream: usize,
        (dst, src): (usize, usize),
        rows: Rows,
        claim: Claim,
        may_stay_in_host: bool,
    ) -> Result<()> {
        let stream = self.stream(stream)?;
        let Some((copy, rows)) = self.plan(dst, src, rows, claim)? else { return Ok(()) };
        if !matches!(copy.to, Spot::Device(_)) && !matches!(copy.from, Spot::Device(_)) {
            if may_stay_in_host {
                stream.synchronize(None)?;
                return copy.rows(rows, Copy::now);
            }
            if matches!(copy.to, Spot::Shared) || matches!(copy.from, Spot::Shared) {
                return copy.by_host_on(&stream, rows);
            }
            return refuse(
                AclError::RT_FEATURE_NOT_SUPPORT,
                "`dst` and `src` are both the host's, which no stream copies",
            );
        }
        if !copy.concerns(&stream.unit) {
            // The device has no such stream, and that of the stream has no such memory.
            stream.synchronize(None)?;
            return copy.rows(rows, Copy::now);
        }
        if matches!(copy.to, Spot::Pageable) || matches!(copy.from, Spot::Pageable) {
            // The program may take such memory back as soon as the call returns, so the device has to have the copy now.
            return stream.submit_now(|stream| copy.rows(rows, |copy, size| copy.queue(stream, size)));
        }
        stream.submit(move |stream| copy.rows(rows, |copy, size| copy.queue(stream, size)))
    }
}

impl Copy {
    /// Whether one of the ends is memory of a device.
    fn concerns(&self, unit: &Arc<Unit>) -> bool {
        [&self.to, &self.from].iter().any(|spot| matches!(spot, Spot::Device(of) if Arc::ptr_eq(of, unit)))
    }

    /// Has the host copy in the order of a stream.
    fn by_host_on(self, stream: &Arc<Stream>, rows: Rows) -> Result<()> {
        if matches!(self.to, Spot::Pageable) || matches!(self.from, Spot::Pageable) {
            stream.synchronize(None)?;
            return self.rows(rows, Copy::now);
        }
        arrival::do_in_order(stream, move |_| self.rows(rows, Copy::now))
    }

    /// Copies row by row.
    fn rows(&self, rows: Rows, mut one: impl FnMut(&Copy, usize) -> Result<()>) -> Result<()> {
        let mut row = self.clone();
        for index in 0..rows.height {
            // Both stay within ranges that were checked.
            row.dst = self.dst + index * rows.dst_pitch;
            row.src = self.src + index * rows.src_pitch;
            one(&row, rows.width)?;
        }
        Ok(())
    }

    fn now(&self, size: usize) -> Result<()> {
        let (dst, src) = (HostPtr::from_addr(self.dst), HostPtr::from_addr(self.src));
        let (to, from) = (DevicePtr::from_addr(self.dst), DevicePtr::from_addr(self.src));
        match (&self.to, &self.from) {
            (Spot::Device(unit), Spot::Device(other)) if unit.ordinal == other.ordinal => {
                unit.on(|device, id| device.memory_copy_d2d(id, to, from, size))
            }
            (Spot::Device(unit), Spot::Device(other)) => {
                between(unit, other, |device, id, of| device.memory_copy_p2p(id, of, to, from, size))
            }
            (Spot::Device(unit), _) => {
                // SAFETY: by the caller's promise the memory is there; what is known of it was checked.
                let src = unsafe { src.bytes(size) };
                unit.on(|device, id| device.memory_copy_h2d(id, to, src))
            }
            (_, Spot::Device(unit)) => {
                // SAFETY: as above.
                let dst = unsafe { dst.bytes_mut(size) };
                unit.on(|device, id| device.memory_copy_d2h(id, dst, from))
            }
            _ => {
                // SAFETY: as above; the ranges may overlap.
                unsafe { dst.as_ptr().cast::<u8>().copy_from(src.as_ptr().cast::<u8>(), size) };
                Ok(())
            }
        }
    }

    fn queue(&self, stream: &Stream, size: usize) -> Result<()> {
        let raw = stream.raw;
        let (dst, src) = (HostPtr::from_addr(self.dst), HostPtr::from_addr(self.src));
        let (to, from) = (DevicePtr::from_addr(self.dst), DevicePtr::from_addr(self.src));
        match (&self.to, &self.from) {
            (Spot::Device(unit), Spot::Device(other)) if unit.ordinal == other.ordinal => {
                unit.on(|device, id| device.async_memory_copy_d2d(id, raw, to, from, size))
            }
            (Spot::Device(unit), Spot::Device(other)) => between(unit, other, |device, id, of| {
                device.async_memory_copy_p2p(id, of, raw, to, from, size)
            }),
            (Spot::Device(unit), _) => {
                unit.on(|device, id| device.async_memory_copy_h2d(id, raw, to, src, size))
            }
            (_, Spot::Device(unit)) => {
                unit.on(|device, id| device.async_memory_copy_d2h(id, raw, dst, from, size))
            }
            _ => Ok(()),
        }
    }
}

/// Calls the first of two devices with the number of the second, which stays open meanwhile.
fn between(
    unit: &Unit,
    other: &Unit,
    body: impl FnOnce(&dyn Device, DeviceId, DeviceId) -> device::Result<()>,
) -> Result<()> {
    other.on(|_, of| unit.ask(|device, id| body(device, id, of)))
}
