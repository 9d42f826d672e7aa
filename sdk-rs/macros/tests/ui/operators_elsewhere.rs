struct MyNpu;

#[tenon_operators::operators]
impl Clone for MyNpu {
    fn clone(&self) -> Self {
        MyNpu
    }
}

fn main() {}
