//! The device of `rust-primitives` as a library of operators for hosts of DIOPI.
//!
//! `cargo build -p example-rust-diopi` builds `libexample_rust_diopi.so`. Hosts load it as `libdiopi_impl.so`.

tenon_diopi::library!(example_rust_primitives::MyNpu);
