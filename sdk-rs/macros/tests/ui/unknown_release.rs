use tenon::device::*;

#[derive(Default)]
struct MyNpu;

#[tenon::device(since = "3.9")]
impl Device for MyNpu {}

fn main() {}
