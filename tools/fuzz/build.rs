//! Exports the symbols of the programs: the library for DIOPI looks up the functions of its host in the process.

fn main() {
    println!("cargo:rustc-link-arg=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
