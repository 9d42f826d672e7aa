//! The device. Its addresses are not those of the host, as on a real device: a host that uses one crashes.

use tenon::{DevicePtr, device::*};

/// The bit that makes an address of the device out of one of the host.
const DEVICE: usize = 1 << 62;

/// A device whose memory is in the host, at other addresses, and whose work is done when a call returns.
#[derive(Default)]
pub struct MyNpu;

/// Returns where the device has the memory of an address.
pub(crate) fn memory(ptr: DevicePtr) -> *mut u8 {
    DevicePtr::from_addr(ptr.addr() & !DEVICE).as_ptr().cast()
}

#[tenon::plugin(
    device_type = "my_npu",
    fallbacks = true,
    operators = tenon_paddle_operators,
    collectives = tenon_gloo
)]
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
        // SAFETY: `malloc` takes any size. Null stands for out of memory, as the host expects.
        let memory = DevicePtr::from_ptr(unsafe { libc::malloc(size.max(1)) });
        Ok(if memory.is_null() { memory } else { DevicePtr::from_addr(memory.addr() | DEVICE) })
    }
    fn device_memory_deallocate(&self, _: DeviceId, ptr: DevicePtr, _: usize) -> Result<()> {
        // SAFETY: the memory comes from `malloc` above and is freed once, or is null.
        unsafe { libc::free(memory(ptr).cast()) };
        Ok(())
    }
    fn memory_copy_h2d(&self, _: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
        // SAFETY: the host copies into memory that it has allocated above.
        unsafe { memory(dst).copy_from(src.as_ptr(), src.len()) };
        Ok(())
    }
    fn memory_copy_d2h(&self, _: DeviceId, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        // SAFETY: the host copies out of memory that it has allocated above.
        unsafe { dst.as_mut_ptr().copy_from(memory(src), dst.len()) };
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
