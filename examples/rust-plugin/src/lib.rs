//! A minimal device: it uses host memory and runs all work synchronously.
//!
//! `cargo build -p example-rust-plugin` builds a plugin for PaddlePaddle 2.6 to 3.3. It implements only the functions
//! that a host needs. `fallbacks = true` emulates the others with the fallbacks of the spec.

use tenon::{DevicePtr, device::*};

#[derive(Default)]
struct MyNpu;

#[tenon::plugin(device_type = "my_npu", fallbacks = true)]
impl Device for MyNpu {
    fn get_device_count(&self) -> Result<usize> {
        Ok(1)
    }
    fn get_device_list(&self) -> Result<Vec<usize>> {
        Ok(vec![0])
    }
    fn set_device(&self, _: DeviceId) -> Result<()> {
        Ok(())
    }
    fn get_device(&self) -> Result<DeviceId> {
        Ok(DeviceId(0))
    }
    fn synchronize_device(&self, _: DeviceId) -> Result<()> {
        Ok(())
    }

    fn device_memory_allocate(&self, _: DeviceId, size: usize) -> Result<DevicePtr> {
        // SAFETY: `malloc` takes any size. It returns null for out of memory, as the host expects.
        Ok(DevicePtr::from_ptr(unsafe { libc::malloc(size.max(1)) }))
    }
    fn device_memory_deallocate(&self, _: DeviceId, ptr: DevicePtr, _: usize) -> Result<()> {
        // SAFETY: the pointer comes from `malloc` above and is freed once, or is null.
        unsafe { libc::free(ptr.as_ptr()) };
        Ok(())
    }
    fn memory_copy_h2d(&self, _: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        // SAFETY: the host copies into memory that it has allocated above.
        unsafe { dst.as_ptr().cast::<u8>().copy_from(src.as_ptr(), src.len()) };
        Ok(())
    }
    fn memory_copy_d2h(&self, _: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        // SAFETY: the host copies out of memory that it has allocated above.
        unsafe { dst.as_mut_ptr().copy_from(src.as_ptr().cast(), dst.len()) };
        Ok(())
    }

    // All work is done when its call returns, so one event serves for all.
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
}
