//! A plugin that breaks the rules itself.

use std::cell::Cell;

use tenon::DevicePtr;
use tenon::device::*;
use tenon_layers::validate::Options;

use super::{Validated, validated};

thread_local! {
    /// What all memory that a thread gets begins at.
    pub static ADDRESS: Cell<usize> = const { Cell::new(0x100_0000) };
}

/// A plugin that breaks the rules itself, and has next to nothing that is optional.
#[derive(Default)]
pub struct Faulty;

#[tenon::device]
impl Device for Faulty {
    fn set_device(&self, _: DeviceId) -> Result<()> {
        Ok(())
    }

    fn get_device(&self) -> Result<DeviceId> {
        Ok(DeviceId(0))
    }

    fn get_device_count(&self) -> Result<usize> {
        Ok(1)
    }

    fn get_device_list(&self) -> Result<Vec<usize>> {
        Ok(vec![0])
    }

    fn synchronize_device(&self, _: DeviceId) -> Result<()> {
        Ok(())
    }

    fn create_stream(&self, _: DeviceId) -> Result<Stream> {
        Ok(Stream::from_addr(0x77))
    }

    fn create_event(&self, _: DeviceId) -> Result<Event> {
        Ok(Event::NULL)
    }

    fn destroy_stream(&self, _: DeviceId, _: Stream) -> Result<()> {
        Err(Error::new(Status::FAILED, "not today"))
    }

    /// Calls twice; on a stream that is not null it calls and then answers with a failure.
    fn stream_add_callback(&self, device: DeviceId, stream: Stream, callback: StreamCallback) -> Result<()> {
        callback.call(device, stream);
        if !stream.is_null() {
            return Err(Error::new(Status::FAILED, "no callbacks today"));
        }
        callback.call(device, stream);
        Ok(())
    }

    fn record_event(&self, _: DeviceId, _: Stream, _: Event) -> Result<()> {
        Ok(())
    }

    fn synchronize_event(&self, _: DeviceId, _: Event) -> Result<()> {
        Ok(())
    }

    fn destroy_event(&self, _: DeviceId, _: Event) -> Result<()> {
        Ok(())
    }

    fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<DevicePtr> {
        Ok(DevicePtr::from_addr(ADDRESS.get()))
    }

    fn device_memory_deallocate(&self, _: DeviceId, _: DevicePtr, size: usize) -> Result<()> {
        if size == 13 { Err(Error::new(Status::FAILED, "unlucky")) } else { Ok(()) }
    }

    fn memory_copy_h2d(&self, _: DeviceId, _: DevicePtr, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn memory_copy_d2h(&self, _: DeviceId, _: &mut [u8], _: DevicePtr) -> Result<()> {
        Ok(())
    }
}

pub static FAULTY: Faulty = Faulty;

/// The plugin, validated.
pub fn faulty() -> Validated<Faulty> {
    validated("faulty", &FAULTY, Options::default())
}
