//! Tensors of a hostile host of DIOPI, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/diopi/mod.rs"]
mod target;

use std::sync::{Mutex, PoisonError};

/// The library and its memory are one for the whole process.
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
    corpus::each("corpus/diopi", target::run);
}

#[test]
fn random_tensors_find_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (number, program) in random(500, 400).enumerate() {
        println!("program {number}");
        target::run(&program);
    }
}

#[test]
fn most_operators_succeed_with_some_tensors() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let reached = target::reached(random(300, 4000));
    assert!(reached.len() > 40, "{reached:?}");
}
