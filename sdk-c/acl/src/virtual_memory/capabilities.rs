//! Which memory the host and other devices can access.

use tenon::AnyPtr;

use super::mappings::VirtualMemory;
use crate::api::{AclError, AtomicOperation, HacType, HostMemMapCapability, MemKind, ServerPid};
use crate::error::{Result, refuse, unknown_value};
use crate::state::State;

/// Returns true if every address in a list has one of these kinds.
pub(crate) fn are_of_kinds(
    state: &State,
    virtual_memory: &VirtualMemory,
    addresses: &[AnyPtr],
    kinds: u32,
    reserve: u32,
) -> Result<bool> {
    if addresses.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    let [dev, dvpp, rsvd] = [MemKind::DEV, MemKind::DVPP, MemKind::RSVD].map(|kind| kind.0.cast_unsigned());
    if kinds == 0 || kinds & !(dev | dvpp | rsvd) != 0 || reserve != 0 {
        return refuse(
            AclError::RT_PARAM_INVALID,
            format!(
                "`mem_type` is {kinds:#x}, which is not a valid set of kinds, or `reserve` is {reserve} instead of 0"
            ),
        );
    }
    Ok(addresses.iter().all(|address| {
        let address = address.addr();
        let is_device =
            || state.blocks.find(address).is_some_and(|block| block.is_device() && !block.is_mapped());
        (kinds & dev != 0 && is_device()) || (kinds & rsvd != 0 && virtual_memory.is_reserved(address))
    }))
}

/// Returns whether a part of a device can access registered host memory: every part can.
pub(crate) fn host_mapping(state: &State, device: u32, part: HacType) -> Result<HostMemMapCapability> {
    state.device(device)?;
    match part.name() {
        Some(_) => Ok(HostMemMapCapability::SUPPORTED),
        None => unknown_value("hac_type", part.0),
    }
}

/// Writes the types for which each atomic operation on remote memory is supported: none, because no device guarantees
/// any.
pub(crate) fn write_atomics(
    state: &State,
    devices: &[i32],
    operations: &[AtomicOperation],
    capabilities: &mut [u32],
) -> Result<()> {
    for device in devices {
        state.device(*device)?;
    }
    if operations.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`count` is 0");
    }
    if let Some(operation) = operations.iter().find(|operation| operation.name().is_none()) {
        return unknown_value("operations", operation.0);
    }
    capabilities.fill(0);
    Ok(())
}

/// Checks that a list of servers is not empty.
pub(crate) fn expect_servers(servers: &[ServerPid]) -> Result<()> {
    if servers.is_empty() {
        return refuse(AclError::INVALID_PARAM, "`num` is 0");
    }
    Ok(())
}
