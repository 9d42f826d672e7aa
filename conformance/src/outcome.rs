//! What came of a run, for those who show it.

use serde::Serialize;
use tenon::device::{Function, reflection};
use tenon::reflect::{FallbackKind, Need};

use crate::case::{Case, Level};
use crate::protocol::{Ending, PluginInfo};
use crate::runner::Options;
use crate::source::Source;

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What was tested.
    pub source: Source,
    /// What the plugin says of itself.
    pub plugin: PluginInfo,
    /// Up to which level.
    pub level: Level,
    /// Whether fallbacks stood in for what the plugin lacks.
    pub fallbacks: bool,
    /// Whether cases were chosen by their names.
    pub filtered: bool,
    /// All functions of the interface, in the order of the spec.
    pub functions: Vec<FunctionRow>,
    /// All cases that were chosen, in the order in which they are listed.
    pub cases: Vec<CaseResult>,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

/// What stands behind a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// The plugin has it.
    Native,
    /// The plugin lacks it, and the spec has a fallback.
    Fallback,
    /// The plugin lacks it, and nothing stands in.
    Missing,
}

impl Presence {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Presence::Native => "native",
            Presence::Fallback => "fallback",
            Presence::Missing => "missing",
        }
    }
}

/// A function, and how its cases went.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionRow {
    /// Its name.
    pub name: &'static str,
    /// Its group in the spec.
    pub group: &'static str,
    /// What stands behind it.
    pub presence: Presence,
    /// Whether a host needs it.
    pub required: bool,
    /// How many cases that speak of it passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many could not be tried.
    pub skipped: usize,
    /// The message of the first that failed.
    pub first_failure: Option<String>,
}

/// A case, and how it went.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// Its name.
    pub id: String,
    /// Who is let down when it fails.
    pub level: Level,
    /// The functions that it speaks of, by name.
    pub functions: Vec<&'static str>,
    /// What was promised.
    pub promise: String,
    /// Where.
    pub source: String,
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// The last that the plugin printed before its process ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long it took, in microseconds.
    pub micros: u64,
}

impl CaseResult {
    pub(crate) fn new(case: &Case, ending: Ending, micros: u64, output: Option<String>) -> Self {
        Self {
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

impl Outcome {
    pub(crate) fn new(
        source: &Source,
        options: &Options,
        plugin: PluginInfo,
        cases: Vec<CaseResult>,
        milliseconds: u64,
    ) -> Self {
        let functions = Function::ALL.map(|function| row(function, &plugin, &cases)).to_vec();
        Self {
            source: source.clone(),
            plugin,
            level: options.level,
            fallbacks: options.fallbacks,
            filtered: !options.filters.is_empty(),
            functions,
            cases,
            milliseconds,
        }
    }

    /// How many cases passed, failed, and could not be tried.
    pub fn counts(&self) -> [usize; 3] {
        let count = |fits: fn(&Ending) -> bool| self.cases.iter().filter(|case| fits(&case.ending)).count();
        [
            count(|ending| matches!(ending, Ending::Passed)),
            count(|ending| matches!(ending, Ending::Failed(_))),
            count(|ending| matches!(ending, Ending::Skipped(_))),
        ]
    }

    /// The cases that failed, with their messages.
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
    let presence = match plugin.native.iter().any(|name| name == info.name) {
        true => Presence::Native,
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
        skipped: 0,
        first_failure: None,
    };
    for case in cases.iter().filter(|case| case.functions.contains(&info.name)) {
        match &case.ending {
            Ending::Passed => row.passed += 1,
            Ending::Skipped(_) => row.skipped += 1,
            Ending::Failed(message) => {
                row.failed += 1;
                row.first_failure.get_or_insert_with(|| format!("{}: {message}", case.id));
            }
        }
    }
    row
}
