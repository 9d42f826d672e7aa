use tenon::device::*;

#[derive(Default)]
struct MyNpu;

#[tenon::device(since = "3.0")]
impl Device for MyNpu {
    fn get_device_properties(&self, _: DeviceId) -> Result<DeviceProperties> {
        unimplemented!()
    }
}

fn main() {}
