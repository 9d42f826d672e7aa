//! The error messages for authors. `TRYBUILD=overwrite cargo test -p tenon --test ui` writes again.

#[test]
fn mistakes_are_told_in_the_words_of_the_spec() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
