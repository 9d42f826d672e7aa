//! The table on the terminal, and what failed below it.

use std::fmt::Write;

use super::Style;
use crate::{CaseResult, Ending, FunctionRow, Outcome, Presence, Progress};

/// The table of functions, a summary, and each failure in full.
pub fn table(outcome: &Outcome, style: Style, verbose: bool) -> String {
    let mut text = String::new();
    header(&mut text, outcome, style);
    let name_width = outcome.functions.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let mut group = "";
    for row in outcome.functions.iter().filter(|row| verbose || is_shown(row, outcome.filtered)) {
        if row.group != group {
            group = row.group;
            let _ = writeln!(text, "\n{}", style.strong(group));
        }
        write_row(&mut text, row, name_width, style);
    }
    if !verbose && !outcome.filtered {
        left_out(&mut text, outcome, style);
    }
    if verbose {
        skips(&mut text, outcome);
    }
    for (case, message) in outcome.failures() {
        failure(&mut text, outcome, case, message, style);
    }
    summary(&mut text, outcome, style);
    text
}

fn header(text: &mut String, outcome: &Outcome, style: Style) {
    let plugin = &outcome.plugin;
    let devices = match plugin.devices {
        Some(1) => "1 device".to_owned(),
        Some(count) => format!("{count} devices"),
        None => "devices not counted".to_owned(),
    };
    let _ = writeln!(text, "{}, {devices} of type `{}`", style.strong(&plugin.name), plugin.device_type);
    if let Some(release) = &plugin.release {
        let _ = writeln!(text, "table of release {release}: {}", plugin.recognition);
    }
    let native = outcome.functions.iter().filter(|row| row.presence == Presence::Native).count();
    let _ =
        writeln!(text, "{native} of {} functions, level `{}`", outcome.functions.len(), outcome.level.name());
}

/// A row without a case says nothing that the line of what is left out does not.
fn is_shown(row: &FunctionRow, filtered: bool) -> bool {
    row.passed + row.failed > 0 || (!filtered && (row.presence == Presence::Native || row.required))
}

fn write_row(text: &mut String, row: &FunctionRow, width: usize, style: Style) {
    let tried = row.passed + row.failed;
    let presence = format!("{:<8}", row.presence.name());
    let presence = match row.presence {
        Presence::Missing if row.required => style.bad(&presence),
        Presence::Native => presence,
        _ => style.faint(&presence),
    };
    let score = format!("{:>7}", format!("{}/{tried}", row.passed));
    let score = match (row.failed, tried) {
        (0, 0) => style.faint("      -"),
        (0, _) => style.good(&score),
        _ => style.bad(&score),
    };
    let line = format!("  {:width$}  {presence} {score}", row.name);
    let failure = row.first_failure.as_ref().map_or_else(String::new, |message| format!("  {message}"));
    let _ = writeln!(text, "{}{failure}", line.trim_end());
}

fn left_out(text: &mut String, outcome: &Outcome, style: Style) {
    let mut of = |presence: Presence, title: &str| {
        let names: Vec<&str> = outcome
            .functions
            .iter()
            .filter(|row| row.presence == presence && !is_shown(row, false))
            .map(|row| row.name)
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "\n{}", style.strong(title));
            wrapped(text, &names, style);
        }
    };
    of(Presence::Fallback, "left out, with a fallback in the spec");
    of(Presence::Missing, "left out, and nothing stands in");
}

fn wrapped(text: &mut String, names: &[&str], style: Style) {
    let mut line = String::new();
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { "," } else { "" };
        if line.len() + name.len() > 100 {
            let _ = writeln!(text, "  {}", style.faint(line.trim_end()));
            line.clear();
        }
        let _ = write!(line, "{name}{comma} ");
    }
    let _ = writeln!(text, "  {}", style.faint(line.trim_end()));
}

fn skips(text: &mut String, outcome: &Outcome) {
    let skipped = outcome.cases.iter().filter_map(|case| match &case.ending {
        Ending::Skipped(reason) => Some((case, reason)),
        _ => None,
    });
    for (index, (case, reason)) in skipped.enumerate() {
        if index == 0 {
            text.push_str("\nskipped\n");
        }
        let _ = writeln!(text, "  {}: {reason}", case.id);
    }
}

fn failure(text: &mut String, outcome: &Outcome, case: &CaseResult, message: &str, style: Style) {
    let _ = writeln!(text, "\n{} {}", style.bad("FAILED"), style.strong(&case.id));
    let _ = writeln!(text, "  seen:     {message}");
    let _ = writeln!(text, "  promised: {} ({}, level `{}`)", case.promise, case.source, case.level.name());
    if let Some(output) = &case.output {
        let _ = writeln!(text, "  printed:  {}", output.replace('\n', "\n  "));
    }
    let level = case.level.name();
    let fallbacks = if outcome.fallbacks { " --fallbacks" } else { "" };
    let _ = writeln!(
        text,
        "  again:    tenon check {} --level {level}{fallbacks} --filter {}",
        outcome.source.text(),
        case.id
    );
}

fn summary(text: &mut String, outcome: &Outcome, style: Style) {
    let [passed, failed, skipped] = outcome.counts();
    let tally = format!("{passed} passed, {failed} failed, {skipped} skipped");
    let tally = if failed == 0 { style.good(&tally) } else { style.bad(&tally) };
    let seconds = outcome.milliseconds as f64 / 1000.0;
    let _ = writeln!(text, "\n{tally} in {seconds:.1} s");
}

/// One line that says how far a run is.
pub fn bar(progress: Progress<'_>) -> String {
    const WIDTH: usize = 24;
    let filled = (progress.done * WIDTH).checked_div(progress.all).unwrap_or_default();
    let failed = if progress.failed > 0 { format!(", {} failed", progress.failed) } else { String::new() };
    format!(
        "{}{} {}/{}{failed}  {}",
        "█".repeat(filled),
        "░".repeat(WIDTH - filled),
        progress.done,
        progress.all,
        progress.case
    )
}
