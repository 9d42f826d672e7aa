use tenon::device::*;

#[derive(Default)]
struct MyNpu;

#[tenon::plugin(device_type = "my_npu")]
impl Device for MyNpu {
    fn get_device_count(&self) -> Result<usize> {
        Ok(1)
    }
}

fn main() {}
