use tenon::device::*;

struct MyNpu;

#[tenon::plugin]
impl Device for MyNpu {}

fn main() {}
