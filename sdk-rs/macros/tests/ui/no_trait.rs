struct MyNpu;

#[tenon::device]
impl MyNpu {}

fn main() {}
