//! The factory of a library: its devices, and the providers for them.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use tenon::device::DeviceId;

use super::allocator::{DeviceMemory, PinnedMemory};
use super::device::DeviceState;
use super::provider::SessionProvider;
use super::stream::SessionStream;
use super::transfer::Copies;
use crate::api::objects::{
    Allocator, DataTransfer, EpDevice, Error, Factory, Logger, MemoryDevice, Provider, Result,
    SessionOptions, Stream, ffi,
};
use crate::api::runtime::{HardwareDevice, HardwareDeviceType, KeyValuePairs, MemoryAccess, MemoryInfo};
use crate::error::reported;
use crate::host::Host;
use crate::library::{Library, Memory};

/// The key under which an entry for a device has its number.
const DEVICE_KEY: &CStr = c"tenon_device";

/// The factory of a library.
pub(crate) struct LibraryFactory {
    library: &'static Library,
    host: Host,
    devices: Vec<Arc<DeviceState>>,
    has_streams: bool,
}

impl LibraryFactory {
    pub(crate) fn new(library: &'static Library, host: Host) -> Result<Self> {
        let count = library.device.get_device_count().map_err(reported)?;
        if count == 0 {
            return Err(Error::invalid("there is no device"));
        }
        let ids = (0..count).map_while(|id| i32::try_from(id).ok()).map(DeviceId);
        let state = |id| DeviceState::new(library, host, id).map(Arc::new);
        let devices = ids.map(state).collect::<Result<_>>()?;
        let has_streams = library.memory == Memory::OfTheDevice && makes_streams(library);
        Ok(Self { library, host, devices, has_streams })
    }

    /// Returns the device with a number.
    fn device(&self, id: usize) -> Result<&Arc<DeviceState>> {
        let count = self.devices.len();
        self.devices
            .get(id)
            .ok_or_else(|| Error::invalid(format!("there is no device {id}, but {count} devices")))
    }

    /// Makes the entry for a device.
    fn entry(
        &self,
        factory: *mut ffi::OrtEpFactory,
        hardware: HardwareDevice,
        index: usize,
    ) -> Result<EpDevice> {
        let Host { runtime, ep } = self.host;
        let number = CString::new(index.to_string()).unwrap_or_default();
        // SAFETY: the host passes a device that is alive, and the list is released once, after it was copied.
        let entry = unsafe {
            let mut raw = std::ptr::null_mut();
            runtime.create_key_value_pairs(&raw mut raw)?;
            let pairs = KeyValuePairs::from_raw(raw);
            runtime.add_key_value_pair(pairs, DEVICE_KEY.as_ptr(), number.as_ptr())?;
            let entry = ep.create_ep_device(factory, hardware, pairs, KeyValuePairs::NULL);
            runtime.release_key_value_pairs(pairs)?;
            entry?
        };
        if let Some(infos) = self.devices[index].infos() {
            for info in [infos.device, infos.pinned] {
                // SAFETY: the descriptions live as long as the factory.
                if let Err(error) = unsafe { ep.add_allocator_info(entry, info) } {
                    // SAFETY: nobody has the entry.
                    unsafe { ep.release_ep_device(entry) }?;
                    return Err(error);
                }
            }
        }
        Ok(entry)
    }
}

/// Returns true if the device has streams.
fn makes_streams(library: &Library) -> bool {
    let device = &library.device;
    let made = device.create_stream(DeviceId(0));
    made.is_ok_and(|stream| device.destroy_stream(DeviceId(0), stream).is_ok())
}

#[tenon::object]
impl Factory for LibraryFactory {
    fn factory_name(&self) -> &CStr {
        &self.library.name
    }

    fn vendor(&self) -> &CStr {
        &self.library.vendor
    }

    fn vendor_id(&self) -> u32 {
        self.library.vendor_id
    }

    fn version(&self) -> &CStr {
        &self.library.version
    }

    fn supported_devices(
        &self,
        factory: *mut ffi::OrtEpFactory,
        devices: &[HardwareDevice],
        ep_devices: &mut [EpDevice],
    ) -> Result<usize> {
        // The host does not find the devices of the library. They stand beside the CPU, which each machine has.
        let mut processor = None;
        for device in devices {
            // SAFETY: the host passes devices that are alive.
            if unsafe { self.host.runtime.hardware_device_type(*device) }? == HardwareDeviceType::CPU {
                processor = Some(*device);
                break;
            }
        }
        let Some(processor) = processor else { return Ok(0) };
        let count = self.devices.len().min(ep_devices.len());
        for (index, place) in ep_devices[..count].iter_mut().enumerate() {
            *place = self.entry(factory, processor, index)?;
        }
        Ok(count)
    }

    fn create_provider(
        &self,
        _: &[HardwareDevice],
        metadata: &[KeyValuePairs],
        _: SessionOptions,
        _: Logger,
    ) -> Result<Box<dyn Provider>> {
        let [pairs] = metadata else {
            return Err(Error::invalid(
                "a session uses one device of this provider: pass one to `add_provider_for_devices`",
            ));
        };
        // SAFETY: the host passes a list that is alive, and the text lives as long.
        let number = unsafe {
            let text = self.host.runtime.key_value(*pairs, DEVICE_KEY.as_ptr())?;
            if text.is_null() {
                None
            } else {
                CStr::from_ptr(text).to_str().ok().and_then(|text| text.parse().ok())
            }
        };
        let device = self.device(number.unwrap_or(0))?;
        Ok(Box::new(SessionProvider::new(Arc::clone(device))))
    }

    fn create_allocator(&self, memory: MemoryInfo, _: KeyValuePairs) -> Result<Option<Box<dyn Allocator>>> {
        // SAFETY: the host passes a description of this library, which is alive.
        let (id, access) = unsafe {
            let runtime = self.host.runtime;
            (runtime.memory_info_id(memory)?, runtime.memory_info_access(memory)?)
        };
        let device = Arc::clone(self.device(usize::try_from(id).unwrap_or(usize::MAX))?);
        if device.infos().is_none() {
            return Ok(None);
        }
        Ok(Some(if access == MemoryAccess::HOST_ACCESSIBLE {
            Box::new(PinnedMemory::new(device, memory))
        } else {
            Box::new(DeviceMemory::new(device, memory))
        }))
    }

    fn create_data_transfer(&self) -> Result<Option<Box<dyn DataTransfer>>> {
        Ok(match self.library.memory {
            Memory::OfTheHost => None,
            Memory::OfTheDevice => Some(Box::new(Copies::new(self.library, self.host, self.devices.len()))),
        })
    }

    fn is_stream_aware(&self) -> bool {
        self.has_streams
    }

    fn create_stream(&self, device: MemoryDevice, _: KeyValuePairs) -> Result<Box<dyn Stream>> {
        // SAFETY: the host passes a device that is alive.
        let id = unsafe { self.host.ep.memory_device_id(device) }?;
        Ok(Box::new(SessionStream::new(Arc::clone(self.device(id as usize)?))?))
    }
}
