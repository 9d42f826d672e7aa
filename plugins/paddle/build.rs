//! Linker arguments of the plugin.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtenon_paddle.so");
        // Paddle closes a plugin at exit, or when it refuses one, and keeps the pointers to its kernels.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
