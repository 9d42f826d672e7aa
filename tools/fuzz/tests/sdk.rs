//! The kept inputs of the C SDK, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/sdk/mod.rs"]
mod target;

use std::sync::{Mutex, PoisonError};

/// The library is one for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn kept_inputs_find_nothing_any_more() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    corpus::each("corpus/sdk", target::run);
}

#[test]
fn long_programs_find_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for program in 0..40 {
        println!("program {program}");
        let bytes: Vec<u8> = (0..900)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        target::run(&bytes);
    }
}
