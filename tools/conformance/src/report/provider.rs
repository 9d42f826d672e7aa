//! The results of a provider on the terminal.

use std::fmt::Write;

use super::{Style, table};
use crate::outcome::{CaseResult, Counts};
use crate::protocol::Ending;
use crate::provider::{ProviderCase, ProviderOutcome};

/// Returns the results of each group, a summary, and each failure in full.
pub fn provider_table(outcome: &ProviderOutcome, style: Style, verbose: bool) -> String {
    let mut text = String::new();
    let name = outcome.library.file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(
        text,
        "{} in ONNX Runtime {}, level `{}`\n",
        style.strong(&name),
        outcome.onnxruntime,
        outcome.level.name()
    );
    let group = |case: &CaseResult| case.id.split('.').next().unwrap_or_default().to_owned();
    let groups = || outcome.cases.chunk_by(|one, next| group(one) == group(next));
    let width = groups().map(|cases| group(&cases[0]).len()).max().unwrap_or_default();
    for cases in groups() {
        let counts = Counts::of(cases);
        let tried = counts.passed + counts.failed;
        let score = format!("{:>9}", format!("{}/{tried}", counts.passed));
        let score = match (counts.failed, tried) {
            (0, 0) => style.faint("        -"),
            (0, _) => style.good(&score),
            _ => style.bad(&score),
        };
        let skipped = match counts.skipped {
            0 => String::new(),
            count => style.faint(&format!("  {count} skipped")),
        };
        let _ = writeln!(text, "  {:width$}{score}{skipped}", group(&cases[0]));
    }
    if verbose {
        table::skips(&mut text, &outcome.cases);
    }
    for (message, cases) in causes(outcome) {
        let case = cases[0];
        table::broken(&mut text, case, message, style);
        let (arguments, level) = (outcome.arguments(), case.level.name());
        let _ = writeln!(text, "  again:    tenon check {arguments} --level {level} --filter {}", case.id);
        let others: Vec<String> = cases[1..].iter().map(|case| case.id.clone()).collect();
        table::others(&mut text, "as well:  ", &others, style, verbose);
    }
    let Counts { passed, failed, skipped, .. } = outcome.counts();
    let tally = format!("{passed} passed, {failed} failed, {skipped} skipped");
    let tally = if failed == 0 { style.good(&tally) } else { style.bad(&tally) };
    let _ = writeln!(text, "\n{tally} in {:.1} s", outcome.milliseconds as f64 / 1000.0);
    text
}

/// Returns the cases that failed for the same reason, with their message, in the order of the first ones.
fn causes(outcome: &ProviderOutcome) -> Vec<(&str, Vec<&CaseResult>)> {
    let mut causes: Vec<(&str, Vec<&CaseResult>)> = Vec::new();
    for case in &outcome.cases {
        let Ending::Failed(message) = &case.ending else { continue };
        match causes.iter_mut().find(|(known, _)| known == message) {
            Some((_, cases)) => cases.push(case),
            None => causes.push((message, vec![case])),
        }
    }
    causes
}

/// Returns each case with its level and the promise.
pub fn provider_list(cases: &[ProviderCase], style: Style) -> String {
    let mut text = String::new();
    for case in cases {
        let _ = writeln!(text, "{}  {}", style.strong(&case.name), case.level.name());
        let _ = writeln!(text, "    {} {}", case.promise, style.faint(&format!("({})", case.source)));
    }
    let _ = writeln!(text, "\n{} cases", cases.len());
    text
}
