use tenon::device::*;

struct MyNpu;

#[tenon::plugin(device_typ = "my_npu")]
impl Device for MyNpu {}

fn main() {}
