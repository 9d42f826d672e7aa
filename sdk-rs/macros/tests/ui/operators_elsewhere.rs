struct MyNpu;

#[tenon::operators]
impl Clone for MyNpu {
    fn clone(&self) -> Self {
        MyNpu
    }
}

fn main() {}
