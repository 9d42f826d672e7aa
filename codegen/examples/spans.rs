//! x
fn main() {
    match codegen::load(&codegen::source::Folder::new(std::env::args().nth(1).unwrap())) {
        Ok(_) => println!("ok"),
        Err(m) => print!("{}", m.render(false)),
    }
}
