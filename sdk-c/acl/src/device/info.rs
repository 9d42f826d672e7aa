//! Information about devices and about the ACL stack.

use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use tenon::device::{self, Device, DeviceId};

use crate::api::{
    CannAttr, DevAttr, DevFeatureType, DeviceInfo, DeviceStatus, RtDeviceGetStreamPriorityRange,
    RtGetVersion, Topology, TsId, UtilizationInfo, Uuid,
};
use crate::error::{Result, unknown_value};
use crate::state::State;
use crate::state::device_state::DeviceState;
use crate::stream::config::LEAST_PRIORITY;

/// The interface version that the spec describes.
pub(crate) const VERSION: RtGetVersion =
    RtGetVersion { major_version: 1, minor_version: 14, patch_version: 0 };

/// The range of stream priorities.
pub(crate) const PRIORITIES: RtDeviceGetStreamPriorityRange =
    RtDeviceGetStreamPriorityRange { least_priority: LEAST_PRIORITY.cast_signed(), greatest_priority: 0 };

/// The features that the stack has.
pub(crate) const STACK_FEATURES: &[CannAttr] = &[CannAttr::INF_NAN, CannAttr::BF16];

/// Returns 1 if the stack has a feature, otherwise 0.
pub(crate) fn stack_has(what: CannAttr) -> Result<i32> {
    match what {
        known if STACK_FEATURES.contains(&known) => Ok(1),
        CannAttr::JIT_COMPILE => Ok(0),
        CannAttr(other) => unknown_value("cann_attr", other),
    }
}

/// Checks that a task scheduler exists.
pub(crate) fn check_scheduler(scheduler: TsId) -> Result<()> {
    match scheduler {
        TsId::AICORE | TsId::AIVECTOR => Ok(()),
        TsId(other) => unknown_value("ts_id", other),
    }
}

/// The name of the chip, which is the type of all devices.
#[derive(Default)]
pub(crate) struct ChipName(OnceLock<&'static CStr>);

impl ChipName {
    pub(crate) fn get(&self, state: &State) -> &'static CStr {
        self.0.get_or_init(|| {
            let name = state.provider.device_type().replace('\0', " ");
            // Programs may keep the pointer for ever; each runtime has only one name.
            Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str())
        })
    }
}

/// Calls a device, and opens it for the call if it is closed.
fn ask<R>(
    state: &State,
    device: &Arc<DeviceState>,
    question: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>,
) -> Result<R> {
    state.lease(device)?.call(question)
}

/// Returns a capability of a device.
pub(crate) fn device_capability(state: &State, device: u32, what: DeviceInfo) -> Result<i64> {
    let device_state = state.device(device)?;
    match what {
        DeviceInfo::AI_CORE_NUM => number(state, &device_state, |device, id| device.get_multi_process(id)),
        DeviceInfo::VECTOR_CORE_NUM | DeviceInfo::L2_SIZE => Ok(0),
        DeviceInfo(other) => unknown_value("device_info", other),
    }
}

/// Returns an attribute of a device.
pub(crate) fn device_info(state: &State, device: u32, what: DevAttr) -> Result<i64> {
    let device_state = state.device(device)?;
    match what {
        DevAttr::AICORE_CORE_NUM => number(state, &device_state, |device, id| device.get_multi_process(id)),
        DevAttr::MAX_THREAD_PER_VECTOR_CORE => {
            number(state, &device_state, |device, id| device.get_max_threads_per_mp(id))
        }
        DevAttr::TOTAL_GLOBAL_MEM_SIZE => {
            number(state, &device_state, |device, id| Ok(device.device_memory_stats(id)?.total_memory))
        }
        DevAttr::PHY_CHIP_ID => Ok(device.into()),
        other if other.name().is_some() => Ok(0),
        DevAttr(other) => unknown_value("attr", other),
    }
}

fn number(
    state: &State,
    device: &Arc<DeviceState>,
    question: impl FnOnce(&dyn Device, DeviceId) -> device::Result<usize>,
) -> Result<i64> {
    Ok(i64::try_from(ask(state, device, question)?).unwrap_or(i64::MAX))
}

/// Returns whether a device has a feature: always 0.
pub(crate) fn device_feature(what: DevFeatureType) -> Result<i32> {
    if what.name().is_some() { Ok(0) } else { unknown_value("dev_feature_type", what.0) }
}

/// Returns the status of a device: normal if it can be opened.
pub(crate) fn device_status(state: &State, device: &Arc<DeviceState>) -> DeviceStatus {
    match state.lease(device) {
        Ok(_) => DeviceStatus::NORMAL,
        Err(_) => DeviceStatus::ABNORMAL,
    }
}

/// Returns the utilization of a device. Only that of its memory is known.
pub(crate) fn utilization(state: &State, device: &Arc<DeviceState>) -> Result<UtilizationInfo> {
    let memory = ask(state, device, |device, id| device.device_memory_stats(id))?;
    let used = memory.total_memory.saturating_sub(memory.free_memory) as u128;
    let percent = (used * 100).checked_div(memory.total_memory as u128);
    Ok(UtilizationInfo {
        cube_utilization: -1,
        vector_utilization: -1,
        aicpu_utilization: -1,
        memory_utilization: percent.map_or(-1, |percent| i32::try_from(percent).unwrap_or(100)),
        utilization_extend: std::ptr::null_mut(),
    })
}

/// Returns the link between two devices.
pub(crate) fn topology(state: &State, one: u32, other: u32) -> Result<u64> {
    state.device(one)?;
    state.device(other)?;
    let link = if one == other { Topology::SIO } else { Topology::SYS };
    Ok(u64::from(link.0.cast_unsigned()))
}

/// Returns the number of a device, which is the same in every numbering.
pub(crate) fn device_number(state: &State, device: i32) -> Result<i32> {
    state.device(device).map(|_| device)
}

/// Returns an identifier of a device of this machine.
pub(crate) fn uuid(state: &State, device: &DeviceState) -> Uuid {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let mut bytes = [0; 16];
    for (half, place) in bytes.chunks_mut(8).enumerate() {
        // The default keys of the hasher are fixed, so every process computes the same identifier.
        let mut hasher = DefaultHasher::new();
        (half, machine.trim(), state.provider.device_type(), device.ordinal).hash(&mut hasher);
        for (byte, hashed) in place.iter_mut().zip(hasher.finish().to_le_bytes()) {
            *byte = std::ffi::c_char::from_ne_bytes([hashed]);
        }
    }
    Uuid { bytes }
}
