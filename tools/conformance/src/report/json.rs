//! All that was found, as JSON.

use serde::Serialize;

/// Returns an outcome as JSON on separate lines, with its fields as they are.
pub fn json(outcome: &impl Serialize) -> String {
    // Serialising it cannot fail: no map with keys that are not text, no number that is none.
    let mut text = serde_json::to_string_pretty(outcome).unwrap_or_default();
    text.push('\n');
    text
}
