//! The cases themselves: named once, each with a promise that was made where it says.

use std::collections::BTreeSet;
use std::path::Path;

use tenon::device::Function;
use tenon_conformance::{Level, all_cases};

/// Returns the spec's texts, without line breaks.
fn spec() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the workspace is two folders above")
        .join("spec/device");
    let files = std::fs::read_dir(folder)
        .expect("the spec is there")
        .map(|file| file.expect("it can be read").path());
    let texts = files.map(|path| std::fs::read_to_string(path).expect("it can be read"));
    let text = texts.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    // A status with parts for its readers is one sentence in the bindings.
    let parts = [("\"", ""), ("{ all: ", ""), ("all: ", ""), (", host: ", "; "), (" host: ", "; ")];
    parts.into_iter().fold(text, |text, (key, mark)| text.replace(key, mark))
}

#[test]
fn a_promise_of_the_spec_stands_there_word_by_word() {
    let spec = spec();
    for case in all_cases() {
        if let Some(name) = case.source.text().strip_prefix("spec, ") {
            let name = name.trim_matches('`');
            assert!(
                spec.contains(&format!("name: {name} ")) || spec.contains(&format!("group: {name} ")),
                "{}: the spec has no `{name}`",
                case.id
            );
            assert!(spec.contains(&*case.promise), "{}: the spec does not say: {}", case.id, case.promise);
        }
    }
}

#[test]
fn each_case_has_a_name_of_its_own_and_a_subject() {
    let mut names = BTreeSet::new();
    for case in all_cases() {
        assert!(names.insert(case.id.clone()), "two cases are named {}", case.id);
        assert!(!case.functions.is_empty(), "{} speaks of no function", case.id);
        assert!(!case.promise.is_empty(), "{} has no promise", case.id);
    }
}

/// Cases of a group share a process, so they have to stand together.
#[test]
fn groups_are_not_torn_apart() {
    let groups: Vec<&str> = all_cases()
        .chunk_by(|first, second| first.group() == second.group())
        .map(|group| group[0].group())
        .collect();
    let distinct: BTreeSet<&&str> = groups.iter().collect();
    assert_eq!(groups.len(), distinct.len(), "{groups:?}");
}

#[test]
fn what_no_case_speaks_of_is_known() {
    let spoken: BTreeSet<&str> =
        all_cases().iter().flat_map(|case| &case.functions).map(|function| function.name()).collect();
    let silent: Vec<&str> =
        Function::ALL.into_iter().map(Function::name).filter(|name| !spoken.contains(name)).collect();
    let by_the_host = |name: &&str| {
        name.starts_with("profiler_")
            || [
                "get_device_properties",
                "init_eigen_device",
                "destroy_eigen_device",
                "get_parameter_setter_for_exec_graph",
            ]
            .contains(name)
    };
    assert!(silent.iter().all(by_the_host), "{silent:?}");
}

#[test]
fn the_guide_counts_the_cases() {
    let guide = include_str!("../../../docs/src/guide/conformance.md");
    for level in [Level::Required, Level::Promised, Level::Good] {
        let count = all_cases().iter().filter(|case| case.level <= level).count();
        let row = guide.lines().find(|line| line.starts_with(&format!("| `--level {}`", level.name())));
        assert!(
            row.is_some_and(|row| row.ends_with(&format!(" {count} |"))),
            "{count} at {level:?}: {row:?}"
        );
    }
}
