use tenon::device::*;

#[derive(Default)]
struct MyNpu;

#[tenon::device]
impl Device for MyNpu {
    fn memory_copy_hd2(&self, _: DeviceId, _: tenon::DevicePtr, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

fn main() {}
