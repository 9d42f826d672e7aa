//! Random calls of the C SDK, by libFuzzer.
#![no_main]

#[path = "../targets/sdk/mod.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
