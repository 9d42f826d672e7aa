//! The kept specs, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/spec.rs"]
mod target;

#[test]
fn kept_inputs_find_nothing_any_more() {
    corpus::each("corpus/spec", target::run);
}
