struct MyNpu;

trait Gadget {}

#[tenon::device]
impl Gadget for MyNpu {}

fn main() {}
