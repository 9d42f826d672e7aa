//! A device with the limits of a profile.

use std::collections::HashMap;
use std::sync::Arc;
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{DeviceId, DeviceMemoryStats, Forward, Function, Partial, Result, Wrapper};

use super::{Profile, is_optional};

/// A device with the limits of a profile.
pub(super) struct Limits {
    device: Arc<dyn Partial>,
    profile: Profile,
    /// The allocated bytes of each device.
    used: Mutex<HashMap<DeviceId, usize>>,
}

impl Limits {
    pub(super) fn new(device: Arc<dyn Partial>, profile: Profile) -> Self {
        Limits { device, profile, used: Mutex::default() }
    }

    /// Returns the maximum memory of each device in bytes.
    fn memory(&self) -> usize {
        self.profile.memory.unwrap_or(usize::MAX)
    }

    /// Changes the allocated bytes of a device, if `change` returns their new number.
    fn update(&self, device: DeviceId, change: impl FnOnce(usize) -> Option<usize>) -> bool {
        let mut used = self.used.lock();
        let used = used.entry(device).or_default();
        let changed = change(*used);
        *used = changed.unwrap_or(*used);
        changed.is_some()
    }

    fn release(&self, device: DeviceId, size: usize) {
        self.update(device, |used| Some(used.saturating_sub(size)));
    }
}

impl Wrapper for Limits {
    fn target(&self) -> &dyn Partial {
        &*self.device
    }

    fn provides(&self, function: Function) -> bool {
        let is_hidden = is_optional(function) && self.profile.hidden.contains(&function);
        let is_own = function == Function::DeviceMemoryStats && self.profile.memory.is_some();
        !is_hidden && (is_own || self.device.provides(function))
    }
}

impl Forward for Limits {
    fn get_device_count(&self) -> Result<usize> {
        let count = self.device.get_device_count()?;
        Ok(self.profile.devices.map_or(count, |most| most.min(count)))
    }

    fn get_device_list(&self) -> Result<Vec<usize>> {
        let mut list = self.device.get_device_list()?;
        list.truncate(self.profile.devices.unwrap_or(usize::MAX));
        Ok(list)
    }

    fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
        let limit = self.memory();
        // Reserved before the call, so that two threads cannot exceed the limit together.
        if !self.update(device, |used| used.checked_add(size).filter(|sum| *sum <= limit)) {
            return Ok(DevicePtr::NULL);
        }
        let allocated = self.device.device_memory_allocate(device, size);
        if !allocated.as_ref().is_ok_and(|pointer| size == 0 || !pointer.is_null()) {
            self.release(device, size);
        }
        allocated
    }

    fn device_memory_deallocate(&self, device: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
        self.device.device_memory_deallocate(device, ptr, size)?;
        if !ptr.is_null() {
            self.release(device, size);
        }
        Ok(())
    }

    fn device_memory_stats(&self, device: DeviceId) -> Result<DeviceMemoryStats> {
        let limit = self.memory();
        let used = *self.used.lock().get(&device).unwrap_or(&0);
        let left = limit.saturating_sub(used);
        if !self.device.provides(Function::DeviceMemoryStats) {
            return Ok(DeviceMemoryStats { total_memory: limit, free_memory: left });
        }
        let stats = self.device.device_memory_stats(device)?;
        Ok(DeviceMemoryStats {
            total_memory: stats.total_memory.min(limit),
            free_memory: stats.free_memory.min(left),
        })
    }
}
