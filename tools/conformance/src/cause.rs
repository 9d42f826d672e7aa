//! Groups failed cases by their cause, with the cases that could not be tested because of it.

use serde::Serialize;

use crate::outcome::CaseResult;
use crate::protocol::Ending;

/// One reason for which cases failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The functions that failed, by name.
    pub functions: Vec<String>,
    /// The failure, as the first case reports it.
    pub message: String,
    /// The cases that failed for this reason, by name; the first is shown in full.
    pub failed: Vec<String>,
    /// The cases that were not tested, since they need one of the functions.
    pub blocked: Vec<String>,
    /// The functions whose result was wrong in the first case.
    #[serde(skip)]
    blamed: Vec<String>,
}

/// Groups failures, and decides which cases were tested: if a case failed because of a function that it only needs,
/// and that function has failed in its own cases, the case shows nothing about the functions that it tests.
///
/// If only cases that need a function met its failure, the first of them counts as a failure of that
/// function.
pub(crate) fn settle(cases: &mut [CaseResult]) -> Vec<Cause> {
    for index in 0..cases.len() {
        if follows(cases, index)
            && let Ending::Failed(message) = &cases[index].ending
        {
            cases[index].ending = Ending::Blocked(message.clone());
        }
    }
    let mut causes: Vec<Cause> = Vec::new();
    for case in cases.iter_mut().filter(|case| matches!(case.ending, Ending::Failed(_))) {
        let (Ending::Failed(message), blamed) = (&case.ending, &case.blamed) else { continue };
        // The words of a case that judges what it saw are its own.
        let same = |cause: &&mut Cause| {
            !blamed.is_empty() && cause.blamed == *blamed && alike(&cause.message, message)
        };
        match causes.iter_mut().find(same) {
            Some(cause) => cause.failed.push(case.id.clone()),
            None => causes.push(Cause {
                functions: case.failing.clone(),
                message: message.clone(),
                failed: vec![case.id.clone()],
                blocked: Vec::new(),
                blamed: blamed.clone(),
            }),
        }
    }
    for case in cases {
        let Ending::Blocked(message) = &case.ending else { continue };
        let touches = |cause: &Cause| case.blamed.iter().any(|function| cause.functions.contains(function));
        let of_same_words = causes.iter().position(|cause| touches(cause) && alike(&cause.message, message));
        match of_same_words.or_else(|| causes.iter().position(touches)) {
            Some(found) => {
                case.follows = causes[found].failed.first().cloned();
                causes[found].blocked.push(case.id.clone());
            }
            None => {
                causes.push(Cause {
                    functions: case.blamed.clone(),
                    message: message.clone(),
                    failed: vec![case.id.clone()],
                    blocked: Vec::new(),
                    blamed: case.blamed.clone(),
                });
                case.failing.clone_from(&case.blamed);
                case.ending = Ending::Failed(message.clone());
            }
        }
    }
    causes
}

/// Returns true if a case failed by a function that it is not about, and a case that is about the function failed alike.
fn follows(cases: &[CaseResult], index: usize) -> bool {
    let case = &cases[index];
    let Ending::Failed(message) = &case.ending else { return false };
    let is_about = |case: &CaseResult, blamed: &[String]| {
        blamed.iter().any(|function| case.functions.iter().any(|name| name == function))
    };
    !case.blamed.is_empty()
        && !is_about(case, &case.blamed)
        && cases.iter().any(|other| {
            matches!(&other.ending, Ending::Failed(said) if alike(said, message))
                && is_about(other, &case.blamed)
        })
}

/// Returns true if two messages are the same but for their numbers.
fn alike(first: &str, second: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
        let split = text.split([' ', ',', ':', '`']).filter(|word| !word.is_empty());
        split.map(|word| if is_number(word) { "#".to_owned() } else { word.to_owned() }).collect()
    };
    words(first) == words(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Level;

    fn case(id: &str, functions: &[&'static str], ending: Ending, blamed: &[&str]) -> CaseResult {
        CaseResult {
            id: id.to_owned(),
            level: Level::Required,
            functions: functions.to_vec(),
            promise: String::new(),
            source: String::new(),
            ending,
            blamed: blamed.iter().map(|name| (*name).to_owned()).collect(),
            failing: functions.iter().map(|name| (*name).to_owned()).collect(),
            follows: None,
            output: None,
            micros: 0,
        }
    }

    fn failed(message: &str) -> Ending {
        Ending::Failed(message.to_owned())
    }

    #[test]
    fn cases_of_one_reason_are_one_cause() {
        let wrong = "`allocate` answered `success` and wrote no address";
        let mut cases = [
            case("memory.one", &["allocate"], failed(wrong), &["allocate"]),
            case("memory.two", &["allocate"], failed(wrong), &["allocate"]),
            case("copy", &["copy"], Ending::Blocked(wrong.to_owned()), &["allocate"]),
            case("other", &["query"], failed("it lies"), &[]),
        ];
        let causes = settle(&mut cases);
        assert_eq!(causes.len(), 2, "{causes:#?}");
        assert_eq!(causes[0].failed, ["memory.one", "memory.two"]);
        assert_eq!(causes[0].blocked, ["copy"]);
        assert_eq!(cases[2].follows.as_deref(), Some("memory.one"));
        assert_eq!(causes[1].failed, ["other"]);
    }

    #[test]
    fn a_late_error_follows_only_from_one_that_is_alike() {
        let late = "`wait` answered `error`; it says: 3 copies failed";
        let alike = "`wait` answered `error`; it says: 4 copies failed";
        let mut cases = [
            case("wait", &["wait"], failed(alike), &["wait"]),
            case("copy", &["copy"], failed(late), &["wait"]),
        ];
        assert_eq!(settle(&mut cases).len(), 1);
        assert!(matches!(cases[1].ending, Ending::Blocked(_)));
        let mut cases = [
            case("wait.null", &["wait"], failed("`wait` took null and answered `success`"), &["wait"]),
            case("copy", &["copy"], failed(late), &["wait"]),
        ];
        assert_eq!(settle(&mut cases).len(), 2);
        assert_eq!(cases[1].ending, failed(late));
    }

    #[test]
    fn a_failure_that_only_needing_cases_met_is_one_of_the_function() {
        let wrong = Ending::Blocked("`allocate` answered `failed`".to_owned());
        let mut cases = [
            case("copy.one", &["copy"], wrong.clone(), &["allocate"]),
            case("copy.two", &["copy"], wrong, &["allocate"]),
        ];
        let causes = settle(&mut cases);
        assert_eq!((causes.len(), &causes[0].blocked[..]), (1, &["copy.two".to_owned()][..]));
        assert_eq!(cases[0].failing, ["allocate"]);
        assert!(matches!(cases[0].ending, Ending::Failed(_)));
    }
}
