//! The cases and their promises.

use std::fmt::Write;

use super::Style;
use crate::Case;

/// Each case with its level, the functions it speaks of, and the promise.
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
