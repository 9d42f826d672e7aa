use tenon::device::*;

struct MyNpu;

#[tenon::device(device_type = "x")]
impl Device for MyNpu {}

fn main() {}
