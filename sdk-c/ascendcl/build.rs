//! Names the shared library as programs ask for it, here and on Ascend.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libascendcl.so");
}
