//! Constants in device memory, which composed operators reuse.

use std::collections::HashMap;
use tenon::support::Mutex;

use tenon::DevicePtr;
use tenon::device::{DataType, Device, DeviceId, Error, Result, Status};

/// The maximum number of constants in device memory. No memory is allocated for more, because attributes may
/// differ in each call.
const LIMIT: usize = 1024;

/// Constants that stay in device memory for the lifetime of the process.
#[derive(Default)]
pub(crate) struct Constants(Mutex<HashMap<Key, DevicePtr>>);

/// The device, the type and the bits of a constant.
type Key = (DeviceId, DataType, u64);

impl Constants {
    /// Returns the address of a number; `None` if there are too many other constants.
    pub(crate) fn find(
        &self,
        devices: &dyn Device,
        device: DeviceId,
        ty: DataType,
        value: f64,
    ) -> Result<Option<DevicePtr>> {
        let mut known = self.0.lock();
        let key = (device, ty, value.to_bits());
        if let Some(memory) = known.get(&key) {
            return Ok(Some(*memory));
        }
        if known.len() == LIMIT {
            return Ok(None);
        }
        let bytes = bytes(ty, value)?;
        let memory = devices.device_memory_allocate(device, bytes.len())?;
        if memory.is_null() {
            return Err(Error::new(Status::INTERNAL_ERROR, "the device has no memory for a number"));
        }
        // No work uses new memory, so the copy need not wait for a stream.
        devices.memory_copy_h2d(device, memory, &bytes)?;
        known.insert(key, memory);
        Ok(Some(memory))
    }
}

/// Returns the bytes of a number, converted to an element type.
fn bytes(ty: DataType, value: f64) -> Result<Vec<u8>> {
    match ty {
        DataType::FLOAT32 => Ok((value as f32).to_ne_bytes().to_vec()),
        DataType::FLOAT64 => Ok(value.to_ne_bytes().to_vec()),
        DataType::BOOL => Ok(vec![u8::from(value != 0.0)]),
        _ => {
            let message = format!("a composed operator with numbers of {ty:?} is not implemented");
            Err(Error::new(Status::FAILED, message))
        }
    }
}
