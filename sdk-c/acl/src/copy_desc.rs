//! Copies that are written down in device memory, and made as often as a program likes.

use tenon::HostPtr;

use crate::api::{AclError, MemcpyKind};
use crate::copy::{Claim, Rows};
use crate::error::{Result, refuse};
use crate::runtime::Runtime;

/// How much device memory a descriptor takes, in bytes.
pub(crate) const SIZE: usize = 64;

/// The one kind of copy that is written down: within a device.
const INNER: MemcpyKind = MemcpyKind::INNER_DEVICE_TO_DEVICE;

/// What a descriptor begins with, so that other bytes are not taken for one.
const MARK: u64 = u64::from_ne_bytes(*b"tenoncpy");

/// A copy as it lies in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Desc {
    mark: u64,
    src: u64,
    dst: u64,
    count: u64,
    reserved: [u64; 4],
}

const _: () = assert!(size_of::<Desc>() == SIZE);

/// Whether copies of a kind can be written down.
pub(crate) fn expect_kind(kind: MemcpyKind) -> Result<()> {
    if kind == INNER {
        return Ok(());
    }
    refuse(
        AclError::RT_FEATURE_NOT_SUPPORT,
        format!("`kind` is {kind:?}; only copies within a device, {INNER:?}, have descriptors"),
    )
}

impl Runtime {
    /// Writes a copy down.
    pub(crate) fn set_copy_desc(
        &self,
        desc: usize,
        kind: MemcpyKind,
        (dst, src): (usize, usize),
        count: usize,
        config: usize,
    ) -> Result<()> {
        expect_kind(kind)?;
        if config != 0 {
            return refuse(AclError::RT_PARAM_INVALID, "`config` is reserved and null");
        }
        self.device_range("desc", desc, SIZE)?;
        self.device_range("src_addr", src, count)?;
        self.device_range("dst_addr", dst, count)?;
        let written =
            Desc { mark: MARK, src: src as u64, dst: dst as u64, count: count as u64, ..Desc::default() };
        self.copy(
            desc,
            HostPtr::from_ptr(&raw const written).addr(),
            Rows::one(SIZE),
            Claim { to_device: Some(true), from_device: Some(false) },
        )
    }

    /// Queues the copy that is written down.
    pub(crate) fn copy_as_described(&self, desc: usize, kind: MemcpyKind, stream: usize) -> Result<()> {
        expect_kind(kind)?;
        self.device_range("desc", desc, SIZE)?;
        let mut written = Desc::default();
        self.copy(
            HostPtr::from_ptr(&raw mut written).addr(),
            desc,
            Rows::one(SIZE),
            Claim { to_device: Some(false), from_device: Some(true) },
        )?;
        let Desc { mark, src, dst, count, .. } = written;
        if mark != MARK {
            return refuse(AclError::RT_PARAM_INVALID, "there is no descriptor at `desc`");
        }
        // They were made from numbers of this size.
        let (src, dst, count) = (src as usize, dst as usize, count as usize);
        self.device_range("the source in `desc`", src, count)?;
        self.device_range("the destination in `desc`", dst, count)?;
        self.copy_on(stream, (dst, src), Rows::one(count), Claim::of(kind)?, false)
    }
}
