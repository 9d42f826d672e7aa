//! Captures that no program has recorded, by libFuzzer.
#![no_main]

#[path = "../targets/capture.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
