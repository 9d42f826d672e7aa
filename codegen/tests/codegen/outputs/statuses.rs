//! The statuses that generated code returns for failures.

use codegen::model::Meaning;

use crate::data;
use crate::specs::load;
use crate::texts::Texts;

/// Loads the good spec with other values of the status, and returns the name of the status for each case.
fn failures(values: &str) -> [String; 3] {
    let mut texts = Texts::of_folder(&data("bad/base"));
    let text = texts.0.get_mut("board/board.yaml").expect("the spec has it");
    let old = "      - { name: failed, c: B_FAILED, value: 1, summary: It did not. }\n";
    assert!(text.contains(old), "the spec has another status");
    *text = text.replace(old, values);
    let loaded = load(&texts);
    let interface = loaded.spec.interface("board").expect("the spec has it");
    let status = interface.status.expect("it has a status");
    [Meaning::InvalidArgument, Meaning::Unsupported, Meaning::Internal].map(|meaning| {
        let value = loaded.spec.failure(status, meaning).expect("it has a failure");
        value.name.value.clone()
    })
}

#[test]
fn failure_is_not_the_answer_to_a_question() {
    // `is_idle` answers `success` or `failed`.
    let values = "      - { name: failed, c: B_FAILED, value: 1, summary: It did not. }\n      \
                  - { name: broken, c: B_BROKEN, value: 2, summary: It is broken. }\n";
    assert_eq!(failures(values), ["broken"; 3]);
}

#[test]
fn failure_is_the_value_for_its_case_or_another_case() {
    let values = "      - { name: failed, c: B_FAILED, value: 1, summary: It did not. }\n      \
                  - { name: missing, c: B_MISSING, value: 2, means: unsupported, summary: It is missing. }\n      \
                  - { name: broken, c: B_BROKEN, value: 3, means: internal, summary: It is broken. }\n";
    assert_eq!(failures(values), ["broken", "missing", "broken"]);
}

#[test]
fn only_failure_stands_for_every_case() {
    let values = "      - { name: failed, c: B_FAILED, value: 1, summary: It did not. }\n";
    assert_eq!(failures(values), ["failed"; 3]);
}
