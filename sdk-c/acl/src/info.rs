//! What is known of devices and of the stack.

use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use tenon::device::{self, Device, DeviceId};

use crate::api::{
    AclError, CannAttr, DevAttr, DevFeatureType, DeviceInfo, DeviceLimit, DeviceStatus,
    RtDeviceGetStreamPriorityRange, RtGetVersion, Topology, TsId, UtilizationInfo, Uuid,
};
use crate::error::{Result, refuse};
use crate::home::Home;
use crate::runtime::Runtime;
use crate::streams::LEAST_PRIORITY;

/// The version of the interface that the spec describes.
pub(crate) const VERSION: RtGetVersion =
    RtGetVersion { major_version: 1, minor_version: 14, patch_version: 0 };

/// The priorities that streams have.
pub(crate) const PRIORITIES: RtDeviceGetStreamPriorityRange =
    RtDeviceGetStreamPriorityRange { least_priority: LEAST_PRIORITY.cast_signed(), greatest_priority: 0 };

/// Whether the stack can do something.
pub(crate) fn stack_has(what: CannAttr) -> Result<i32> {
    match what {
        CannAttr::INF_NAN | CannAttr::BF16 => Ok(1),
        CannAttr::JIT_COMPILE => Ok(0),
        CannAttr(other) => no_such("cann_attr", other),
    }
}

/// Whether there is such a scheduler.
pub(crate) fn check_scheduler(scheduler: TsId) -> Result<()> {
    match scheduler {
        TsId::AICORE | TsId::AIVECTOR => Ok(()),
        TsId(other) => no_such("ts_id", other),
    }
}

/// What is said of a number that names nothing.
#[cold]
pub(crate) fn no_such<T>(param: &str, value: i32) -> Result<T> {
    refuse(AclError::INVALID_PARAM, format!("`{param}` is {value}, which is none of its values"))
}

impl Runtime {
    /// The name of the chip: what all devices are.
    pub(crate) fn soc_name(&self) -> &'static CStr {
        self.soc_name.get_or_init(|| {
            let name = self.devices.device_type().replace('\0', " ");
            // Programs keep the pointer as long as they run; there is one for each runtime.
            Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str())
        })
    }

    /// Asks an open device, or one that is opened for this.
    fn ask<R>(
        &self,
        home: &Arc<Home>,
        question: impl FnOnce(&dyn Device, DeviceId) -> device::Result<R>,
    ) -> Result<R> {
        home.lease(&*self.devices)?.on(question)
    }

    pub(crate) fn device_capability(&self, device: u32, what: DeviceInfo) -> Result<i64> {
        let home = self.home(device.into())?;
        match what {
            DeviceInfo::AI_CORE_NUM => self.figure(&home, |device, id| device.get_multi_process(id)),
            DeviceInfo::VECTOR_CORE_NUM | DeviceInfo::L2_SIZE => Ok(0),
            DeviceInfo(other) => no_such("device_info", other),
        }
    }

    pub(crate) fn device_info(&self, device: u32, what: DevAttr) -> Result<i64> {
        let home = self.home(device.into())?;
        match what {
            DevAttr::AICORE_CORE_NUM => self.figure(&home, |device, id| device.get_multi_process(id)),
            DevAttr::MAX_THREAD_PER_VECTOR_CORE => {
                self.figure(&home, |device, id| device.get_max_threads_per_mp(id))
            }
            DevAttr::TOTAL_GLOBAL_MEM_SIZE => {
                self.figure(&home, |device, id| Ok(device.device_memory_stats(id)?.total_memory))
            }
            DevAttr::PHY_CHIP_ID => Ok(device.into()),
            other if other.name().is_some() => Ok(0),
            DevAttr(other) => no_such("attr", other),
        }
    }

    fn figure(
        &self,
        home: &Arc<Home>,
        question: impl FnOnce(&dyn Device, DeviceId) -> device::Result<usize>,
    ) -> Result<i64> {
        Ok(i64::try_from(self.ask(home, question)?).unwrap_or(i64::MAX))
    }

    pub(crate) fn device_feature(&self, _: &Arc<Home>, what: DevFeatureType) -> Result<i32> {
        if what.name().is_some() { Ok(0) } else { no_such("dev_feature_type", what.0) }
    }

    pub(crate) fn device_status(&self, home: &Arc<Home>) -> DeviceStatus {
        match home.lease(&*self.devices) {
            Ok(_) => DeviceStatus::NORMAL,
            Err(_) => DeviceStatus::ABNORMAL,
        }
    }

    pub(crate) fn utilisation(&self, home: &Arc<Home>) -> Result<UtilizationInfo> {
        let memory = self.ask(home, |device, id| device.device_memory_stats(id))?;
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

    pub(crate) fn topology(&self, one: u32, other: u32) -> Result<u64> {
        self.home(one.into())?;
        self.home(other.into())?;
        let ways = if one == other { Topology::SIO } else { Topology::SYS };
        Ok(u64::from(ways.0.cast_unsigned()))
    }

    /// The number of a device, which is the same in each way of counting.
    pub(crate) fn same_number(&self, device: i32) -> Result<i32> {
        self.home(device.into()).map(|_| device)
    }

    /// A name for a device of this machine.
    pub(crate) fn uuid(&self, home: &Arc<Home>) -> Uuid {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let mut bytes = [0; 16];
        for (half, place) in bytes.chunks_mut(8).enumerate() {
            // It is made with fixed keys, so that each process comes to the same.
            let mut hasher = DefaultHasher::new();
            (half, machine.trim(), self.devices.device_type(), home.ordinal).hash(&mut hasher);
            for (byte, hashed) in place.iter_mut().zip(hasher.finish().to_le_bytes()) {
                *byte = std::ffi::c_char::from_ne_bytes([hashed]);
            }
        }
        Uuid { bytes }
    }

    pub(crate) fn can_be_peers(&self, device: i32, peer: i32) -> Result<bool> {
        Ok(self.home(device.into())?.ordinal != self.home(peer.into())?.ordinal)
    }

    pub(crate) fn set_device_limit(&self, limit: DeviceLimit, value: usize) -> Result<()> {
        let home = self.current_device()?;
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        home.state().settings.insert(limit_key(limit)?, value);
        Ok(())
    }

    pub(crate) fn device_limit(&self, limit: DeviceLimit) -> Result<usize> {
        let home = self.current_device()?;
        let value = home.state().settings.get(&limit_key(limit)?).copied().unwrap_or(0);
        Ok(usize::try_from(value).unwrap_or(0))
    }
}

fn limit_key(limit: DeviceLimit) -> Result<(&'static str, i64)> {
    if limit.name().is_some() { Ok(("limit", limit.0.into())) } else { no_such("limit", limit.0) }
}
