//! Copies between the host and devices.

use tenon::device::{DeviceId, Stream};
use tenon::{DevicePtr, HostPtr};

use super::stream::stream_of;
use crate::api::objects::{DataTransfer, Error, HostStream, MemoryDevice, Result};
use crate::api::runtime::{MemoryAccess, MemoryDeviceType, Value};
use crate::error::reported;
use crate::host::Host;
use crate::library::Library;

/// Copies tensors between the host and the devices of a library.
pub(crate) struct Copies {
    library: &'static Library,
    host: Host,
    devices: usize,
}

/// Where a tensor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In host memory.
    Host,
    /// In memory of a device of the library.
    Device(DeviceId),
    /// Elsewhere.
    Foreign,
}

impl Copies {
    pub(crate) fn new(library: &'static Library, host: Host, devices: usize) -> Self {
        Self { library, host, devices }
    }

    /// # Safety
    /// The host passes a device that is alive.
    unsafe fn place(&self, device: MemoryDevice) -> Result<Place> {
        let ep = self.host.ep;
        // SAFETY: the caller's promise.
        unsafe {
            if ep.memory_device_type(device)? == MemoryDeviceType::CPU {
                return Ok(Place::Host);
            }
            let id = ep.memory_device_id(device)?;
            let is_own = ep.memory_device_type(device)? == MemoryDeviceType::GPU
                && ep.memory_device_vendor(device)? == self.library.vendor_id
                && (id as usize) < self.devices;
            Ok(match ep.memory_device_access(device)? {
                _ if !is_own => Place::Foreign,
                MemoryAccess::HOST_ACCESSIBLE => Place::Host,
                _ => Place::Device(DeviceId(id.cast_signed())),
            })
        }
    }

    /// # Safety
    /// The host passes tensors that are alive, and a target with room for the elements of the source.
    unsafe fn copy(&self, source: Value, target: Value, stream: Option<Stream>) -> Result<()> {
        let Host { runtime, ep } = self.host;
        // SAFETY: the caller's promise.
        let (from, to, size, read, written) = unsafe {
            let from = self.place(ep.value_memory_device(source)?)?;
            let to = self.place(ep.value_memory_device(target)?)?;
            let size = runtime.tensor_bytes(source)?;
            if runtime.tensor_bytes(target)? < size {
                return Err(Error::invalid("the target of a copy is smaller than the source"));
            }
            (from, to, size, runtime.tensor_data(source)?, runtime.tensor_data(target)?)
        };
        if size == 0 {
            return Ok(());
        }
        let device = &self.library.device;
        let (read, written) = (read.as_ptr(), written.as_ptr());
        let of_device = DevicePtr::from_ptr::<std::ffi::c_void>;
        let of_host = HostPtr::from_ptr::<std::ffi::c_void>;
        // The host copies between nodes without naming their stream.
        for place in [from, to] {
            if let (Place::Device(id), None) = (place, stream) {
                device.synchronize_device(id).map_err(reported)?;
            }
        }
        // It frees and reads its own memory without regard to a stream.
        let copied = match (from, to, stream) {
            (Place::Host, Place::Device(id), Some(stream)) => {
                let copied =
                    device.async_memory_copy_h2d(id, stream, of_device(written), of_host(read), size);
                copied.and_then(|()| device.synchronize_stream(id, stream))
            }
            (Place::Device(id), Place::Host, Some(stream)) => {
                let copied =
                    device.async_memory_copy_d2h(id, stream, of_host(written), of_device(read), size);
                copied.and_then(|()| device.synchronize_stream(id, stream))
            }
            (Place::Device(id), Place::Device(other), Some(stream)) if id == other => {
                device.async_memory_copy_d2d(id, stream, of_device(written), of_device(read), size)
            }
            (Place::Host, Place::Device(id), None) => {
                // SAFETY: the caller promises a tensor of this size in host memory.
                let bytes = unsafe { std::slice::from_raw_parts(read.cast::<u8>(), size) };
                device.memory_copy_h2d(id, of_device(written), bytes)
            }
            (Place::Device(id), Place::Host, None) => {
                // SAFETY: as above, and nothing else uses the target.
                let bytes = unsafe { std::slice::from_raw_parts_mut(written.cast::<u8>(), size) };
                device.memory_copy_d2h(id, bytes, of_device(read))
            }
            (Place::Device(id), Place::Device(other), None) if id == other => {
                device.memory_copy_d2d(id, of_device(written), of_device(read), size)
            }
            (Place::Device(from), Place::Device(to), None) => {
                device.memory_copy_p2p(to, from, of_device(written), of_device(read), size)
            }
            (Place::Device(from), Place::Device(to), Some(stream)) => {
                device.async_memory_copy_p2p(to, from, stream, of_device(written), of_device(read), size)
            }
            (Place::Host, Place::Host, _) => {
                // SAFETY: both are host memory of this size, and the host does not pass overlapping tensors.
                unsafe { written.cast::<u8>().copy_from_nonoverlapping(read.cast(), size) };
                Ok(())
            }
            _ => return Err(Error::invalid("a tensor is on a device of another provider")),
        };
        copied.map_err(reported)
    }
}

#[tenon::object]
impl DataTransfer for Copies {
    fn can_copy(&self, source: MemoryDevice, target: MemoryDevice) -> bool {
        // SAFETY: the host passes devices that are alive.
        let places = unsafe { [self.place(source), self.place(target)] };
        let [Ok(from), Ok(to)] = places else { return false };
        from != Place::Foreign && to != Place::Foreign && (from, to) != (Place::Host, Place::Host)
    }

    fn copy_tensors(
        &self,
        sources: &[Value],
        targets: &[Value],
        streams: Option<&[HostStream]>,
    ) -> Result<()> {
        for (index, (source, target)) in sources.iter().zip(targets).enumerate() {
            let stream = streams.and_then(|streams| streams.get(index)).copied();
            let stream = stream.and_then(|stream| stream_of(self.host, stream));
            // SAFETY: the host passes tensors that are alive and of the same size.
            unsafe { self.copy(*source, *target, stream) }?;
        }
        Ok(())
    }
}
