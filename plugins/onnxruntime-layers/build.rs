//! Link options of the library.

fn main() {
    // The host closes the library at the end of the process, while the trace may still be writing.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
