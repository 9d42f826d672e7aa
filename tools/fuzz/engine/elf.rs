//! Made libraries, by libFuzzer.
#![no_main]

#[path = "../targets/elf.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
