//! A plugin that breaks the rules itself.

use std::cell::Cell;

use tenon::DevicePtr;
use tenon::device::*;
use tenon_layers::validate::Options;
use tenon_testing::stub_device;

use super::{Validated, validated};

thread_local! {
    /// The base address of a thread's memory.
    pub static ADDRESS: Cell<usize> = const { Cell::new(0x100_0000) };
}

/// A plugin that breaks the rules itself, and has next to nothing that is optional.
#[derive(Default)]
pub struct Faulty;

stub_device! {
    #[tenon::device]
    impl Faulty {
        fn create_event(&self, _: DeviceId) -> Result<Event> {
            Ok(Event::NULL)
        }

        fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<DevicePtr> {
            Ok(DevicePtr::from_addr(ADDRESS.get()))
        }

        fn device_memory_deallocate(&self, _: DeviceId, _: DevicePtr, size: usize) -> Result<()> {
            if size == 13 { Err(Error::new(Status::FAILED, "unlucky")) } else { Ok(()) }
        }
    }
    optional {
        fn create_stream(&self, _: DeviceId) -> Result<Stream> {
            Ok(Stream::from_addr(0x77))
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
    }
}

pub static FAULTY: Faulty = Faulty;

/// Returns the plugin, validated.
pub fn faulty() -> Validated<Faulty> {
    validated("faulty", &FAULTY, Options::default())
}
