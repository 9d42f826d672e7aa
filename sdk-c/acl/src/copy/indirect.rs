//! Copies whose addresses are read from memory when the copy runs.

use tenon::HostPtr;

use crate::api::{AclError, MemcpyKind};
use crate::copy::transfer;
use crate::copy::transfer::{Direction, Rows};
use crate::error::{Error, Result, refuse};
use crate::state::State;

/// The source or destination of an indirect copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndirectAddress {
    /// The address that the address is read from.
    pub(crate) at: usize,
    /// The offset that is added to the address, in bytes.
    pub(crate) offset: usize,
}

/// Reads the address of the source or destination.
fn address_of(state: &State, param: &str, end: IndirectAddress) -> Result<usize> {
    let mut address = 0_usize;
    let claim = Direction { to_device: Some(false), from_device: None };
    transfer::copy(
        state,
        HostPtr::from_ptr(&raw mut address).addr(),
        end.at,
        Rows::one(size_of::<usize>()),
        claim,
    )?;
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, format!("the address at `{param}` is null"));
    }
    address.checked_add(end.offset).ok_or_else(|| {
        let message = format!("the address at `{param}` plus its offset exceeds the address space");
        Error::new(AclError::RT_PARAM_INVALID, message)
    })
}

/// Copies in stream order, between addresses that earlier work on the stream may write.
pub(crate) fn copy_indirectly(
    state: &State,
    dst: IndirectAddress,
    room: usize,
    src: IndirectAddress,
    count: usize,
    kind: MemcpyKind,
    stream: usize,
) -> Result<()> {
    if kind != MemcpyKind::INNER_DEVICE_TO_DEVICE {
        return refuse(
            AclError::RT_FEATURE_NOT_SUPPORT,
            format!("`kind` is {kind:?}; indirect copies must stay within a device"),
        );
    }
    for (param, end) in [("dst", dst), ("src", src)] {
        if end.at == 0 {
            return refuse(AclError::INVALID_PARAM, format!("`{param}` is null"));
        }
    }
    let rows = Rows::within(room.saturating_sub(dst.offset), count)?;
    state.stream(stream)?.synchronize(None)?;
    if count == 0 {
        return Ok(());
    }
    let (to, from) = (address_of(state, "dst", dst)?, address_of(state, "src", src)?);
    state.blocks.device_range("the address at `dst`", to, count)?;
    state.blocks.device_range("the address at `src`", from, count)?;
    transfer::copy_on(state, stream, (to, from), rows, Direction::of(kind)?, false)
}
