//! The smallest device that works: host memory, nothing asynchronous.
//!
//! `cargo build -p example-rust-plugin` makes a library that PaddlePaddle 2.6 to 3.3 load. It has the functions that
//! a host needs and no more; `fallbacks = true` fills what it leaves out as the spec says.

use tenon::DevicePtr;
use tenon::device::*;

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

    fn set_device(&self, _device: DeviceId) -> Result<()> {
        Ok(())
    }

    fn get_device(&self) -> Result<DeviceId> {
        Ok(DeviceId(0))
    }

    fn synchronize_device(&self, _device: DeviceId) -> Result<()> {
        Ok(())
    }

    fn device_memory_allocate(&self, _device: DeviceId, size: usize) -> Result<DevicePtr> {
        // Null says that the memory does not suffice; the host then tries to free some of its own.
        // SAFETY: any size may be asked for.
        Ok(DevicePtr::from_ptr(unsafe { libc::malloc(size.max(1)) }))
    }

    fn device_memory_deallocate(&self, _device: DeviceId, ptr: DevicePtr, _size: usize) -> Result<()> {
        // SAFETY: the host gives back what it got above.
        unsafe { libc::free(ptr.as_ptr()) };
        Ok(())
    }

    fn memory_copy_h2d(&self, _device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        // SAFETY: the host stays inside of what it allocated.
        unsafe { libc::memcpy(dst.as_ptr(), src.as_ptr().cast(), src.len()) };
        Ok(())
    }

    fn memory_copy_d2h(&self, _device: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        // SAFETY: the host stays inside of what it allocated.
        unsafe { libc::memcpy(dst.as_mut_ptr().cast(), src.as_ptr(), dst.len()) };
        Ok(())
    }

    // Work is done when its call returns, so one event serves for all.
    fn create_event(&self, _device: DeviceId) -> Result<Event> {
        Ok(Event::from_addr(1))
    }

    fn record_event(&self, _device: DeviceId, _stream: Stream, _event: Event) -> Result<()> {
        Ok(())
    }

    fn synchronize_event(&self, _device: DeviceId, _event: Event) -> Result<()> {
        Ok(())
    }

    fn destroy_event(&self, _device: DeviceId, _event: Event) -> Result<()> {
        Ok(())
    }
}
