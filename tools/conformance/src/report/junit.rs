//! The cases as JUnit XML, one suite for each group.

use std::fmt::Write;

use crate::{CaseResult, Counts, Ending, Outcome};

/// The cases as JUnit XML.
pub fn junit(outcome: &Outcome) -> String {
    let counts = outcome.counts();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{}\">",
        escaped(&outcome.plugin.name),
        outcome.cases.len(),
        counts.failed,
        counts.skipped + counts.blocked,
        seconds(outcome.milliseconds * 1000),
    );
    for suite in outcome.cases.chunk_by(|first, second| group(first) == group(second)) {
        let counts = Counts::of(suite);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\">",
            group(&suite[0]),
            suite.len(),
            counts.failed,
            counts.skipped + counts.blocked,
            seconds(suite.iter().map(|case| case.micros).sum()),
        );
        for case in suite {
            write_case(&mut text, case);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn write_case(text: &mut String, case: &CaseResult) {
    let _ = write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        group(case),
        escaped(&case.id),
        seconds(case.micros)
    );
    let _ = match &case.ending {
        Ending::Passed => writeln!(text, "/>"),
        Ending::Skipped(reason) => {
            writeln!(text, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(reason))
        }
        Ending::Blocked(message) => {
            let first = case.follows.as_deref().unwrap_or_default();
            let reason = format!("not tested, since `{first}` failed: {message}");
            writeln!(text, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(&reason))
        }
        Ending::Failed(message) => writeln!(
            text,
            ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>",
            case.level.name(),
            escaped(message),
            escaped(&format!(
                "{message}\npromised by {}: {}{}",
                case.source,
                case.promise,
                case.output.as_deref().unwrap_or_default()
            )),
        ),
    };
}

fn group(case: &CaseResult) -> &str {
    case.id.split('.').next().unwrap_or_default()
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Text for an attribute or an element. Characters that XML cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            control if control.is_control() || matches!(control, '\u{FFFE}' | '\u{FFFF}') => {
                escaped.push('\u{FFFD}')
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_prints_does_not_break_the_file() {
        assert_eq!(escaped("a<b> & \"c\"\u{1b}[0m\n"), "a&lt;b&gt; &amp; &quot;c&quot;\u{FFFD}[0m&#10;");
    }
}
