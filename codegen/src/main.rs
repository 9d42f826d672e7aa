//! The command.
use codegen::source::Folder;
fn main() {
    match codegen::load(&Folder::new(std::env::args().nth(1).unwrap_or("spec".into()))) {
        Ok(l) => println!("{:#?}", l.spec),
        Err(m) => print!("{}", m.render(false)),
    }
}
