//! Captures that no program has recorded, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/capture.rs"]
mod target;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file of the target is one for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn random(count: usize, len: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count).map(move |_| {
        let bytes = (0..len).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        });
        bytes.collect()
    })
}

#[test]
fn kept_inputs_find_nothing_any_more() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    corpus::each("corpus/capture", target::run);
}

#[test]
fn random_files_find_nothing_and_reach_most_functions() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-capture.cap");
    // Short ones are mostly accepted, long ones are mostly refused.
    let reached = target::reached(random(3000, 24).chain(random(200, 400)), &file);
    assert!(reached.len() > 50, "{} functions: {reached:?}", reached.len());
}
