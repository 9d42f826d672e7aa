//! Peer access: whether a device may access the memory of another.

use std::sync::Arc;

use crate::api::AclError;
use crate::error::{Result, refuse};
use crate::state::State;
use crate::state::device_state::DeviceState;

/// Returns true if copies between two devices can be permitted.
pub(crate) fn can_be_peers(state: &State, device: i32, peer: i32) -> Result<bool> {
    Ok(state.device(device)?.ordinal != state.device(peer)?.ordinal)
}

/// Checks that the program permits copies between two devices.
pub(crate) fn expect_peers(state: &State, one: u32, other: u32) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let reaches =
        |from: u32, to: u32| state.device(from).is_ok_and(|device| device.usage().peers.contains(&to));
    if reaches(one, other) || reaches(other, one) {
        return Ok(());
    }
    refuse(
        AclError::RT_FEATURE_NOT_SUPPORT,
        format!(
            "devices {one} and {other} may not access each other; call `aclrtDeviceEnablePeerAccess` first"
        ),
    )
}

/// Returns the current device and a peer, which must be another device.
fn current_and_peer(state: &State, peer: i32) -> Result<(Arc<DeviceState>, Arc<DeviceState>)> {
    let current = state.current_device()?;
    let other = state.device(peer)?;
    if current.ordinal == other.ordinal {
        return refuse(
            AclError::RT_INVALID_DEVICEID,
            format!("`peer_device_id` is {peer}, which is the current device"),
        );
    }
    Ok((current, other))
}

/// Permits the current device to access a peer.
pub(crate) fn enable(state: &State, peer: i32, flags: u32) -> Result<()> {
    if flags != 0 {
        return refuse(AclError::INVALID_PARAM, format!("`flags` is {flags}; it is reserved and must be 0"));
    }
    let (current, other) = current_and_peer(state, peer)?;
    current.usage().peers.insert(other.ordinal);
    Ok(())
}

/// Withdraws the current device's permission to access a peer.
pub(crate) fn disable(state: &State, peer: i32) -> Result<()> {
    let (current, other) = current_and_peer(state, peer)?;
    if current.usage().peers.remove(&other.ordinal) {
        return Ok(());
    }
    refuse(AclError::RT_PARAM_INVALID, format!("device {} has no access to device {peer}", current.ordinal))
}

/// Returns true if a device may access a peer.
pub(crate) fn is_enabled(state: &State, device: i32, peer: i32) -> Result<bool> {
    let (device, peer) = (state.device(device)?, state.device(peer)?);
    Ok(device.usage().peers.contains(&peer.ordinal))
}
