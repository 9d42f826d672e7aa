//! Names the shared library as programs ask for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Changes when a release breaks the programs that were built before.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtenon.so.0");
    // Threads of devices and of layers may run to the end of the process, so its code has to stay.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
