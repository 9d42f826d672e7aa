//! Cache hints. The arguments are checked; the hints have no other effect.

use tenon::HostPtr;

use crate::api::{AclError, BarrierTaskInfo, CmoType};
use crate::copy::transfer;
use crate::copy::transfer::{Direction, Rows};
use crate::error::{Result, refuse};
use crate::state::State;

/// The size of a descriptor, in bytes.
pub(crate) const DESC_SIZE: usize = 64;

/// The first bytes of a descriptor, which distinguish it from other memory.
const MAGIC: u64 = u64::from_ne_bytes(*b"tenoncmo");

/// The layout of a descriptor in device memory. It describes a range.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Desc {
    magic: u64,
    src: u64,
    size: u64,
    reserved: [u64; 5],
}

const _: () = assert!(size_of::<Desc>() == DESC_SIZE);

/// Writes a descriptor.
pub(crate) fn set_hint_desc(state: &State, desc: usize, src: usize, size: usize) -> Result<()> {
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    state.blocks.device_range("cmo_desc", desc, DESC_SIZE)?;
    state.blocks.device_range("src", src, size)?;
    let written = Desc { magic: MAGIC, src: src as u64, size: size as u64, ..Desc::default() };
    transfer::copy(
        state,
        desc,
        HostPtr::from_ptr(&raw const written).addr(),
        Rows::one(DESC_SIZE),
        Direction { to_device: Some(true), from_device: Some(false) },
    )
}

/// Checks a hint for the range of a descriptor.
pub(crate) fn hint_as_described(
    state: &State,
    desc: usize,
    kind: CmoType,
    stream: usize,
    reserve: usize,
) -> Result<()> {
    if reserve != 0 {
        return refuse(AclError::RT_PARAM_INVALID, "`reserve` is reserved and must be null");
    }
    state.blocks.device_range("cmo_desc", desc, DESC_SIZE)?;
    let mut written = Desc::default();
    transfer::copy(
        state,
        HostPtr::from_ptr(&raw mut written).addr(),
        desc,
        Rows::one(DESC_SIZE),
        Direction { to_device: Some(false), from_device: Some(true) },
    )?;
    if written.magic != MAGIC {
        return refuse(AclError::RT_PARAM_INVALID, "there is no descriptor at `cmo_desc`");
    }
    // The fields were written from `usize` values.
    hint_cache(state, written.src as usize, written.size as usize, kind, stream)
}

/// Checks the hints that a stream should wait for. They have no effect, so there is nothing to wait for.
pub(crate) fn wait_for_hints(state: &State, info: &BarrierTaskInfo, stream: usize, flag: u32) -> Result<()> {
    if flag != 0 {
        return refuse(AclError::RT_PARAM_INVALID, format!("`flag` is {flag}; it is reserved and must be 0"));
    }
    let Some(hints) = info.cmo_info.get(..info.barrier_num) else {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`task_info` has {} hints, more than {}", info.barrier_num, info.cmo_info.len()),
        );
    };
    if let Some(hint) = hints.iter().find(|hint| hint.cmo_type.name().is_none()) {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`task_info` has {:?}, which is not a valid hint", hint.cmo_type),
        );
    }
    state.stream(stream).map(drop)
}

/// Checks a hint.
pub(crate) fn hint_cache(
    state: &State,
    address: usize,
    size: usize,
    kind: CmoType,
    stream: usize,
) -> Result<()> {
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    if kind.name().is_none() {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!("`cmo_type` is {kind:?}, which is not a valid hint"),
        );
    }
    state.blocks.device_range("src", address, size)?;
    state.stream(stream).map(drop)
}
