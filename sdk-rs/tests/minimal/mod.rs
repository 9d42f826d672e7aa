//! The smallest useful device: host memory, two devices, nothing asynchronous.

use std::alloc::Layout;
use std::cell::Cell;

use tenon::device::{Error, Result};

thread_local! {
    pub static CURRENT: Cell<i32> = const { Cell::new(0) };
}

pub fn layout(size: usize) -> Result<Layout> {
    Layout::from_size_align(size.max(1), 64).map_err(|error| Error::invalid(error.to_string()))
}

/// A device with the required functions and some more.
macro_rules! minimal {
    ($($attribute:meta),* => $name:ident { $($more:item)* }) => {
        #[derive(Default)]
        struct $name;

        tenon_testing::stub_device! {
            $(#[$attribute])*
            impl $name {
                fn set_device(&self, device: DeviceId) -> Result<()> {
                    match device.0 {
                        -1 => Err(Error::new(Status::SUCCESS, "a failure that calls itself a success")),
                        0 | 1 => {
                            minimal::CURRENT.set(device.0);
                            Ok(())
                        }
                        13 => panic!("unlucky device {}", device.0),
                        other => Err(Error::invalid(format!("there is no device {other}"))),
                    }
                }

                fn get_device(&self) -> Result<DeviceId> {
                    Ok(DeviceId(minimal::CURRENT.get()))
                }

                fn get_device_count(&self) -> Result<usize> {
                    Ok(2)
                }

                fn device_memory_allocate(&self, _: DeviceId, size: usize) -> Result<DevicePtr> {
                    // SAFETY: the layout has at least one byte.
                    Ok(DevicePtr::from_ptr(unsafe { std::alloc::alloc(minimal::layout(size)?) }))
                }

                fn device_memory_deallocate(&self, _: DeviceId, ptr: DevicePtr, size: usize) -> Result<()> {
                    // SAFETY: the tests free their own allocations, with the right size.
                    unsafe { std::alloc::dealloc(ptr.as_ptr().cast(), minimal::layout(size)?) };
                    Ok(())
                }

                fn memory_copy_h2d(&self, _: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
                    // SAFETY: device memory is host memory here, and the tests stay inside of it.
                    unsafe { std::ptr::copy(src.as_ptr(), dst.as_ptr().cast(), src.len()) };
                    Ok(())
                }

                fn memory_copy_d2h(&self, _: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
                    // SAFETY: device memory is host memory here, and the tests stay inside of it.
                    unsafe { std::ptr::copy(src.as_ptr().cast::<u8>(), dst.as_mut_ptr(), dst.len()) };
                    Ok(())
                }
            }
            optional { $($more)* }
        }
    };
}

pub(crate) use minimal;
