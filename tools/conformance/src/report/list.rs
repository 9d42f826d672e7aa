//! The cases and their promises.

use std::fmt::Write;

use serde::Serialize;

use super::Style;
use crate::{Case, Level};

/// Returns each case with its level, its functions, and the promise.
pub fn list(cases: &[&Case], style: Style) -> String {
    let mut text = String::new();
    for case in cases {
        let functions: Vec<&str> = case.functions.iter().map(|function| function.name()).collect();
        let _ = writeln!(text, "{}  {}  {}", style.strong(&case.id), case.level.name(), functions.join(", "));
        let _ = writeln!(text, "    {} {}", case.promise, style.faint(&format!("({})", case.source.text())));
    }
    let _ = writeln!(text, "\n{} cases", cases.len());
    text
}

/// A case that was not run.
#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    level: Level,
    functions: Vec<&'static str>,
    promise: &'a str,
    source: String,
}

/// Returns the same as JSON: a list of objects.
pub fn list_json(cases: &[&Case]) -> String {
    let entries: Vec<Entry<'_>> = cases
        .iter()
        .map(|case| Entry {
            id: &case.id,
            level: case.level,
            functions: case.functions.iter().map(|function| function.name()).collect(),
            promise: &case.promise,
            source: case.source.text(),
        })
        .collect();
    super::json(&entries)
}
