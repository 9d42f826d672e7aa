//! A run without processes of its own.

use tenon_conformance::{Ending, Level, Options, Source, run};

#[test]
fn a_library_can_run_it_in_its_own_process() {
    let cpu = Source::Builtin("cpu".to_owned());
    let options = Options {
        level: Level::Good,
        filters: vec!["order.".to_owned(), "lifecycle.".to_owned()],
        program: None,
        ..Options::default()
    };
    let mut seen = Vec::new();
    let outcome = run(&cpu, &options, &mut |progress| seen.push(progress.case.to_owned())).expect("it runs");
    assert!(outcome.failures().next().is_none(), "{:?}", outcome.failures().collect::<Vec<_>>());
    assert!(seen.contains(&"order.rerecord".to_owned()), "{seen:?}");
    let case = outcome.cases.iter().find(|one| one.id == "lifecycle.threads-end").expect("it was chosen");
    assert!(
        matches!(&case.ending, Ending::Skipped(reason) if reason.contains("needs a process")),
        "{case:?}"
    );
}
