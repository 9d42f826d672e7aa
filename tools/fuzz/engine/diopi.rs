//! Tensors of a hostile host of DIOPI, by libFuzzer.
#![no_main]

#[path = "../targets/diopi/mod.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
