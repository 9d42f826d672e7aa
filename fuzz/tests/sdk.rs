//! The kept inputs of the C SDK, without the engine.

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "../targets/sdk/mod.rs"]
mod target;

#[test]
fn kept_inputs_find_nothing_any_more() {
    corpus::each("sdk", target::run);
}
