use tenon::device::*;

#[derive(Default)]
struct MyNpu;

#[tenon::device]
impl Device for MyNpu {
    fn set_device(&self, _: usize) -> Result<()> { Ok(()) }
    fn get_device(&self) -> Result<DeviceId> { Ok(DeviceId(0)) }
    fn get_device_count(&self) -> Result<usize> { Ok(1) }
    fn get_device_list(&self) -> Result<Vec<usize>> { Ok(vec![0]) }
    fn synchronize_device(&self, _: DeviceId) -> Result<()> { Ok(()) }
    fn create_event(&self, _: DeviceId) -> Result<Event> { Ok(Event::NULL) }
    fn record_event(&self, _: DeviceId, _: Stream, _: Event) -> Result<()> { Ok(()) }
    fn synchronize_event(&self, _: DeviceId, _: Event) -> Result<()> { Ok(()) }
    fn destroy_event(&self, _: DeviceId, _: Event) -> Result<()> { Ok(()) }
    fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<tenon::DevicePtr> { todo!() }
    fn device_memory_deallocate(&self, _: DeviceId, _: tenon::DevicePtr, _: usize) -> Result<()> { Ok(()) }
    fn memory_copy_h2d(&self, _: DeviceId, _: tenon::DevicePtr, _: &[u8]) -> Result<()> { Ok(()) }
    fn memory_copy_d2h(&self, _: DeviceId, _: &mut [u8], _: tenon::DevicePtr) -> Result<()> { Ok(()) }
}

fn main() {}
