//! The result of a run, for reports.

use serde::Serialize;
use tenon::device::{Function, reflection};
use tenon::reflect::{FallbackKind, Need};

use crate::case::{Case, Level};
use crate::cause::{self, Cause};
use crate::options::Options;
use crate::protocol::{Ending, PluginInfo};
use crate::provider::ProviderCase;
use crate::source::Source;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The plugin that was tested.
    pub source: Source,
    /// The plugin's description of itself.
    pub plugin: PluginInfo,
    /// Up to which level.
    pub level: Level,
    /// True if fallbacks implemented functions that the plugin lacks.
    pub fallbacks: bool,
    /// True if cases were chosen by their names.
    pub filtered: bool,
    /// All functions of the interface, in the order of the spec.
    pub functions: Vec<FunctionRow>,
    /// The reasons for which cases failed, one entry each, in the order of the cases.
    pub causes: Vec<Cause>,
    /// All cases that were chosen, in the order in which they are listed.
    pub cases: Vec<CaseResult>,
    /// Duration, in milliseconds.
    pub milliseconds: u64,
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// The plugin has it.
    Native,
    /// The plugin filled the slot with the spec's fallback, as `fallbacks = true` does.
    Filled,
    /// The plugin lacks it, and the spec has a fallback.
    Fallback,
    /// The plugin lacks it, and there is no fallback.
    Missing,
}

impl Presence {
    /// Returns its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Presence::Native => "native",
            Presence::Filled => "filled",
            Presence::Fallback => "fallback",
            Presence::Missing => "missing",
        }
    }
}

/// A function, and the results of its cases.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionRow {
    /// Its name.
    pub name: &'static str,
    /// Its group in the spec.
    pub group: &'static str,
    /// Its implementation.
    pub presence: Presence,
    /// True if a host needs it.
    pub required: bool,
    /// Number of passed cases about it.
    pub passed: usize,
    /// Number of failed cases.
    pub failed: usize,
    /// Number of cases that were not tested, because a function that they need failed.
    pub blocked: usize,
    /// Number of skipped cases.
    pub skipped: usize,
    /// The message of the first that failed.
    pub first_failure: Option<String>,
}

/// A case, and its result.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// Its name.
    pub id: String,
    /// Its level.
    pub level: Level,
    /// The functions that it is about, by name; none for a provider.
    pub functions: Vec<&'static str>,
    /// The promise.
    pub promise: String,
    /// The source of the promise.
    pub source: String,
    /// The result.
    #[serde(flatten)]
    pub ending: Ending,
    /// The functions whose result was wrong, by name; empty if the case judged the observed behaviour as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blamed: Vec<String>,
    /// The functions that a failure is one of, by name.
    #[serde(skip)]
    pub(crate) failing: Vec<String>,
    /// The case whose failure prevented this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// The last that the plugin printed before its process ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Duration, in microseconds.
    pub micros: u64,
}

impl CaseResult {
    pub(crate) fn new(
        case: &Case,
        ending: Ending,
        blamed: Vec<String>,
        micros: u64,
        output: Option<String>,
    ) -> Self {
        let about = || case.functions.iter().map(|function| function.name().to_owned());
        let at_fault: Vec<String> = about().filter(|name| blamed.contains(name)).collect();
        Self {
            blamed,
            failing: if at_fault.is_empty() { about().collect() } else { at_fault },
            follows: None,
            id: case.id.to_string(),
            level: case.level,
            functions: case.functions.iter().map(|function| function.name()).collect(),
            promise: case.promise.to_string(),
            source: case.source.text(),
            ending,
            output,
            micros,
        }
    }
}

impl CaseResult {
    /// Returns the result of a case for providers, which are about no functions of the device table.
    pub(crate) fn of_provider(
        case: &ProviderCase,
        ending: Ending,
        micros: u64,
        output: Option<String>,
    ) -> Self {
        Self {
            id: case.name.clone(),
            level: case.level,
            functions: Vec::new(),
            promise: case.promise.clone(),
            source: case.source.clone(),
            ending,
            blamed: Vec::new(),
            failing: Vec::new(),
            follows: None,
            output,
            micros,
        }
    }
}

/// Counts the cases by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The promise was kept.
    pub passed: usize,
    /// It was broken.
    pub failed: usize,
    /// It was not tested, since a function that the case needs failed.
    pub blocked: usize,
    /// It could not be tested.
    pub skipped: usize,
}

impl Counts {
    pub(crate) fn of<'a>(cases: impl IntoIterator<Item = &'a CaseResult>) -> Self {
        let mut counts = Self::default();
        for case in cases {
            *match case.ending {
                Ending::Passed => &mut counts.passed,
                Ending::Failed(_) => &mut counts.failed,
                Ending::Blocked(_) => &mut counts.blocked,
                Ending::Skipped(_) => &mut counts.skipped,
            } += 1;
        }
        counts
    }
}

impl Outcome {
    pub(crate) fn new(
        source: &Source,
        options: &Options,
        plugin: PluginInfo,
        mut cases: Vec<CaseResult>,
        milliseconds: u64,
    ) -> Self {
        let causes = cause::settle(&mut cases);
        let functions = Function::ALL.map(|function| row(function, &plugin, &cases)).to_vec();
        Self {
            source: source.clone(),
            plugin,
            level: options.level,
            fallbacks: options.fallbacks,
            filtered: !options.filters.is_empty(),
            functions,
            causes,
            cases,
            milliseconds,
        }
    }

    /// Counts the cases by result.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.cases)
    }

    /// Returns the cases that failed, with their messages.
    pub fn failures(&self) -> impl Iterator<Item = (&CaseResult, &str)> {
        self.cases.iter().filter_map(|case| match &case.ending {
            Ending::Failed(message) => Some((case, message.as_str())),
            _ => None,
        })
    }
}

fn row(function: Function, plugin: &PluginInfo, cases: &[CaseResult]) -> FunctionRow {
    let info = &reflection::FUNCTIONS[function as usize];
    let stands_in = info.fallback.as_ref().is_some_and(|fallback| fallback.kind != FallbackKind::Refuse);
    let has = |names: &[String]| names.iter().any(|name| name == info.name);
    let presence = match has(&plugin.native) {
        true => Presence::Native,
        false if has(&plugin.filled) => Presence::Filled,
        false if stands_in => Presence::Fallback,
        false => Presence::Missing,
    };
    let mut row = FunctionRow {
        name: info.name,
        group: info.group,
        presence,
        required: info.need != Need::Optional,
        passed: 0,
        failed: 0,
        blocked: 0,
        skipped: 0,
        first_failure: None,
    };
    for case in cases {
        let is_about = case.functions.contains(&info.name);
        match &case.ending {
            Ending::Failed(message) if case.failing.iter().any(|name| name == info.name) => {
                row.failed += 1;
                row.first_failure.get_or_insert_with(|| format!("{}: {message}", case.id));
            }
            Ending::Passed if is_about => row.passed += 1,
            Ending::Skipped(_) if is_about => row.skipped += 1,
            // Also a failure of another function, which it is counted for.
            Ending::Blocked(_) | Ending::Failed(_) if is_about => row.blocked += 1,
            _ => {}
        }
    }
    row
}
