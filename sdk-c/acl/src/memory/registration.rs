//! Registration of host memory, and queries about addresses.

use tenon::DevicePtr;

use crate::api::{
    AclError, HostRegisterFlags, HostRegisterType, MemAttr, MemLocation, MemLocationType, MemUsageInfo,
    PtrAttributes, RtGetMemInfo, RtMemGetAddressRange,
};
use crate::error::{Error, Result, refuse, unknown_value};
use crate::shared::pages;
use crate::state::State;
use crate::state::blocks::{Block, Place};
use crate::state::device_state::DeviceState;

/// Registers host memory for a type of access.
pub(crate) fn register_host_as(
    state: &State,
    address: usize,
    size: u64,
    kind: HostRegisterType,
) -> Result<()> {
    match kind {
        HostRegisterType::MAPPED => register_host(state, address, size, true),
        HostRegisterType(other) => unknown_value("type", other),
    }
}

/// Registers host memory with flags.
pub(crate) fn register_host_with(state: &State, address: usize, size: u64, flags: u32) -> Result<()> {
    let [mapped, pinned] = [HostRegisterFlags::MAPPED, HostRegisterFlags::PINNED];
    let [mapped, pinned] = [mapped, pinned].map(|flag| flag.0.cast_unsigned());
    if flags == 0 || flags & !(mapped | pinned) != 0 {
        return refuse(
            AclError::INVALID_PARAM,
            format!("`flag` is {flags:#x}, which is not a valid set of flags"),
        );
    }
    register_host(state, address, size, flags & mapped != 0)
}

/// Registers host memory on the current device.
fn register_host(state: &State, address: usize, size: u64, is_mapped: bool) -> Result<()> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`ptr` is null");
    }
    let length = usize::try_from(size).ok().filter(|size| *size > 0 && address.checked_add(*size).is_some());
    let Some(length) = length else {
        return refuse(AclError::INVALID_PARAM, format!("`size` is {size}"));
    };
    let lease = state.lease_current_device()?;
    let place = Place::Registered { is_mapped };
    let block = Block::at(address, length, place, lease);
    state.blocks.insert_disjoint(block).map_err(|block| {
        let message = format!("some of the {} bytes from {:#x} are already known", block.length, block.start);
        Error::new(AclError::HOST_MEMORY_ALREADY_REGISTERED, message)
    })
}

/// Unregisters host memory.
pub(crate) fn unregister_host(state: &State, address: usize) -> Result<()> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`ptr` is null");
    }
    match state.blocks.remove_if(address, |block| matches!(block.place, Place::Registered { .. })) {
        Some(_) => Ok(()),
        None => not_registered(address),
    }
}

/// Returns the address at which the device accesses host memory: the same one.
pub(crate) fn device_pointer_of(state: &State, address: usize, flag: u32) -> Result<usize> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`p_host` is null");
    }
    if flag != 0 {
        return refuse(AclError::INVALID_PARAM, format!("`flag` is {flag}; it is reserved and must be 0"));
    }
    state.context()?;
    match state.blocks.find(address) {
        Some(block)
            if !matches!(
                block.place,
                Place::Device
                    | Place::Pooled
                    | Place::Mapped
                    | Place::Imported(_)
                    | Place::Managed(_)
                    | Place::Registered { is_mapped: false }
            ) =>
        {
            Ok(address)
        }
        _ => not_registered(address),
    }
}

/// Checks that a range is within one allocation of device memory.
pub(crate) fn expect_device_range(state: &State, address: usize, size: usize) -> Result<()> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`dev_ptr` is null");
    }
    if size == 0 {
        return refuse(AclError::INVALID_PARAM, "`size` is 0");
    }
    state.blocks.device_range("dev_ptr", address, size).map(drop)
}

/// Returns the free and total memory of the current device, in bytes.
pub(crate) fn memory_info(state: &State, kind: MemAttr) -> Result<RtGetMemInfo> {
    if kind.name().is_none() {
        return unknown_value("attr", kind.0);
    }
    let context = state.context()?;
    let stats = context.lease.call(|device, id| device.device_memory_stats(id))?;
    Ok(RtGetMemInfo { free: stats.free_memory, total: stats.total_memory })
}

/// Writes how much device memory the program has allocated; returns the number of entries.
pub(crate) fn memory_usage(device: &DeviceState, places: &mut [MemUsageInfo]) -> Result<usize> {
    let Some(place) = places.first_mut() else {
        return refuse(AclError::INVALID_PARAM, "`input_num` is 0");
    };
    let in_use = device.usage().memory.0 as u64;
    let peak = device.usage().memory.1 as u64;
    let mut name = [0; 32];
    for (place, byte) in name.iter_mut().zip(b"program") {
        *place = std::ffi::c_char::from_ne_bytes([*byte]);
    }
    *place = MemUsageInfo { name, cur_mem_size: in_use, mem_peak_size: peak, reserved: [0; 8] };
    Ok(1)
}

/// Returns the device or host that an address belongs to.
pub(crate) fn pointer_attributes(state: &State, address: usize) -> Result<PtrAttributes> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`ptr` is null");
    }
    let (id, r#type) = match state.blocks.find(address) {
        None => (0, MemLocationType::UNREGISTERED),
        Some(block) if block.is_device() => (block.lease.session.ordinal, MemLocationType::DEVICE),
        Some(_) => (0, MemLocationType::HOST),
    };
    let page_size = u32::try_from(pages::size()).unwrap_or(u32::MAX);
    Ok(PtrAttributes { location: MemLocation { id, r#type }, page_size, rsv: [0; 4] })
}

/// Returns the allocation of device memory that contains an address.
pub(crate) fn address_range(state: &State, address: usize) -> Result<RtMemGetAddressRange> {
    if address == 0 {
        return refuse(AclError::INVALID_PARAM, "`ptr` is null");
    }
    match state.blocks.find(address) {
        Some(block) if block.is_device() => {
            Ok(RtMemGetAddressRange { pbase: DevicePtr::from_addr(block.start), psize: block.asked })
        }
        _ => Err(state.blocks.unknown_address("ptr", address)),
    }
}

fn not_registered<T>(address: usize) -> Result<T> {
    refuse(AclError::HOST_MEMORY_NOT_REGISTERED, format!("{address:#x} is not registered, or not for this"))
}
