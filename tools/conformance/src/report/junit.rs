//! The cases as JUnit XML, one suite for each group.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::{CaseResult, Ending};

/// Returns the cases of a plugin as JUnit XML.
///
/// # Panics
/// Never: writing to memory does not fail.
#[must_use]
pub fn junit(plugin: &str, cases: &[CaseResult], milliseconds: u64) -> String {
    let mut report = Report::new(plugin);
    report.set_time(Duration::from_millis(milliseconds));
    for group in cases.chunk_by(|first, second| group_of(first) == group_of(second)) {
        let mut suite = TestSuite::new(group_of(&group[0]));
        suite.set_time(Duration::from_micros(group.iter().map(|case| case.micros).sum()));
        suite.add_test_cases(group.iter().map(test_case));
        report.add_test_suite(suite);
    }
    report.to_string().expect("writing to memory does not fail")
}

fn test_case(case: &CaseResult) -> TestCase {
    let mut test_case = TestCase::new(&*case.id, status(case));
    test_case.set_classname(group_of(case)).set_time(Duration::from_micros(case.micros));
    test_case
}

fn status(case: &CaseResult) -> TestCaseStatus {
    let mut status = match &case.ending {
        Ending::Passed => return TestCaseStatus::success(),
        Ending::Skipped(_) | Ending::Blocked(_) => TestCaseStatus::skipped(),
        Ending::Failed(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    match &case.ending {
        Ending::Passed => {}
        Ending::Skipped(reason) => drop(status.set_message(&**reason)),
        Ending::Blocked(message) => {
            let first = case.follows.as_deref().unwrap_or_default();
            status.set_message(format!("not tested, since `{first}` failed: {message}"));
        }
        Ending::Failed(message) => {
            let output = case.output.as_deref().unwrap_or_default();
            let details = format!("{message}\npromised by {}: {}{output}", case.source, case.promise);
            status.set_type(case.level.name()).set_message(&**message).set_description(details);
        }
    }
    status
}

fn group_of(case: &CaseResult) -> &str {
    case.id.split('.').next().unwrap_or_default()
}
