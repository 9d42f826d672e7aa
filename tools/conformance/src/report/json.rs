//! All that was found, as JSON.

use serde::Serialize;

use crate::Outcome;

/// Returns the outcome as JSON, with its fields as they are.
pub fn json(outcome: &Outcome) -> String {
    pretty(outcome)
}

/// Writes a value as JSON on separate lines.
pub(super) fn pretty(value: &impl Serialize) -> String {
    // Serialising it cannot fail: no map with keys that are not text, no number that is none.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
