//! What people run: `cargo xtask …`.
fn main() {}
