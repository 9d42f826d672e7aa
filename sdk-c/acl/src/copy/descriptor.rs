//! Copy descriptors in device memory. Each describes a copy that can be repeated.

use tenon::HostPtr;

use crate::api::{AclError, MemcpyKind};
use crate::copy::transfer;
use crate::copy::transfer::{Direction, Rows};
use crate::error::{Result, refuse};
use crate::state::State;

/// The size of a descriptor, in bytes.
pub(crate) const SIZE: usize = 64;

/// The only kind of copy that descriptors support: within a device.
const INNER: MemcpyKind = MemcpyKind::INNER_DEVICE_TO_DEVICE;

/// The first bytes of a descriptor, which distinguish it from other memory.
const MAGIC: u64 = u64::from_ne_bytes(*b"tenoncpy");

/// The layout of a descriptor in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Desc {
    magic: u64,
    src: u64,
    dst: u64,
    count: u64,
    reserved: [u64; 4],
}

const _: () = assert!(size_of::<Desc>() == SIZE);

/// Checks that descriptors support a kind of copy.
pub(crate) fn expect_kind(kind: MemcpyKind) -> Result<()> {
    if kind == INNER {
        return Ok(());
    }
    refuse(
        AclError::RT_FEATURE_NOT_SUPPORT,
        format!("`kind` is {kind:?}; descriptors support only copies within a device, {INNER:?}"),
    )
}

/// Writes a descriptor.
pub(crate) fn set_copy_desc(
    state: &State,
    desc: usize,
    kind: MemcpyKind,
    (dst, src): (usize, usize),
    count: usize,
    config: usize,
) -> Result<()> {
    expect_kind(kind)?;
    if config != 0 {
        return refuse(AclError::RT_PARAM_INVALID, "`config` is reserved and must be null");
    }
    state.blocks.device_range("desc", desc, SIZE)?;
    state.blocks.device_range("src_addr", src, count)?;
    state.blocks.device_range("dst_addr", dst, count)?;
    let written =
        Desc { magic: MAGIC, src: src as u64, dst: dst as u64, count: count as u64, ..Desc::default() };
    transfer::copy(
        state,
        desc,
        HostPtr::from_ptr(&raw const written).addr(),
        Rows::one(SIZE),
        Direction { to_device: Some(true), from_device: Some(false) },
    )
}

/// Queues the copy that a descriptor describes.
pub(crate) fn copy_as_described(state: &State, desc: usize, kind: MemcpyKind, stream: usize) -> Result<()> {
    expect_kind(kind)?;
    state.blocks.device_range("desc", desc, SIZE)?;
    let mut written = Desc::default();
    transfer::copy(
        state,
        HostPtr::from_ptr(&raw mut written).addr(),
        desc,
        Rows::one(SIZE),
        Direction { to_device: Some(false), from_device: Some(true) },
    )?;
    let Desc { magic, src, dst, count, .. } = written;
    if magic != MAGIC {
        return refuse(AclError::RT_PARAM_INVALID, "there is no descriptor at `desc`");
    }
    // The fields were written from `usize` values.
    let (src, dst, count) = (src as usize, dst as usize, count as usize);
    state.blocks.device_range("the source in `desc`", src, count)?;
    state.blocks.device_range("the destination in `desc`", dst, count)?;
    transfer::copy_on(state, stream, (dst, src), Rows::one(count), Direction::of(kind)?, false)
}
