//! Stub devices.

use tenon::DevicePtr;
use tenon::device::{DeviceId, Event, Result, Stream};

/// The required functions of a device, with bodies that do nothing and succeed.
///
/// [`stub_device!`](crate::stub_device!) makes a device of it.
#[allow(missing_docs, reason = "the functions are those of `tenon::device::Device`")]
pub trait RequiredFunctions {
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
        Ok((0..self.get_device_count()?).collect())
    }

    fn synchronize_device(&self, _: DeviceId) -> Result<()> {
        Ok(())
    }

    fn create_event(&self, _: DeviceId) -> Result<Event> {
        Ok(Event::from_addr(1))
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
        Ok(DevicePtr::NULL)
    }

    fn device_memory_deallocate(&self, _: DeviceId, _: DevicePtr, _: usize) -> Result<()> {
        Ok(())
    }

    fn memory_copy_h2d(&self, _: DeviceId, _: DevicePtr, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn memory_copy_d2h(&self, _: DeviceId, _: &mut [u8], _: DevicePtr) -> Result<()> {
        Ok(())
    }
}

/// Implements `Device` for a type, in two parts: the required functions that do more than nothing, and the optional
/// functions that the device has. The types of the interface must be in scope.
///
/// ```ignore
/// stub_device! {
///     #[tenon::device]
///     impl Broken {
///         fn create_event(&self, _: DeviceId) -> Result<Event> {
///             Ok(Event::NULL)
///         }
///     }
///     optional {
///         fn create_stream(&self, _: DeviceId) -> Result<Stream> {
///             Ok(Stream::from_addr(0x77))
///         }
///     }
/// }
/// ```
#[macro_export]
macro_rules! stub_device {
    (
        $(#[$attribute:meta])*
        impl $name:ident { $($required:item)* }
        optional { $($optional:item)* }
    ) => {
        impl $crate::RequiredFunctions for $name { $($required)* }

        $(#[$attribute])*
        impl Device for $name {
            fn set_device(&self, device: DeviceId) -> Result<()> {
                $crate::RequiredFunctions::set_device(self, device)
            }

            fn get_device(&self) -> Result<DeviceId> {
                $crate::RequiredFunctions::get_device(self)
            }

            fn get_device_count(&self) -> Result<usize> {
                $crate::RequiredFunctions::get_device_count(self)
            }

            fn get_device_list(&self) -> Result<Vec<usize>> {
                $crate::RequiredFunctions::get_device_list(self)
            }

            fn synchronize_device(&self, device: DeviceId) -> Result<()> {
                $crate::RequiredFunctions::synchronize_device(self, device)
            }

            fn create_event(&self, device: DeviceId) -> Result<Event> {
                $crate::RequiredFunctions::create_event(self, device)
            }

            fn record_event(&self, device: DeviceId, stream: Stream, event: Event) -> Result<()> {
                $crate::RequiredFunctions::record_event(self, device, stream, event)
            }

            fn synchronize_event(&self, device: DeviceId, event: Event) -> Result<()> {
                $crate::RequiredFunctions::synchronize_event(self, device, event)
            }

            fn destroy_event(&self, device: DeviceId, event: Event) -> Result<()> {
                $crate::RequiredFunctions::destroy_event(self, device, event)
            }

            fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
                $crate::RequiredFunctions::device_memory_allocate(self, device, size)
            }

            fn device_memory_deallocate(&self, device: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
                $crate::RequiredFunctions::device_memory_deallocate(self, device, ptr, size)
            }

            fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
                $crate::RequiredFunctions::memory_copy_h2d(self, device, dst, src)
            }

            fn memory_copy_d2h(&self, device: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
                $crate::RequiredFunctions::memory_copy_d2h(self, device, dst, src)
            }

            $($optional)*
        }
    };
}
