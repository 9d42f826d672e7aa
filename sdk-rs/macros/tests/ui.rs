//! The error messages for authors. `TRYBUILD=overwrite cargo test -p tenon-macros --test ui` writes again.

#[test]
fn rejected_code_fails_with_the_expected_messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
