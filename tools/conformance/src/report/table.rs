//! The table on the terminal, and what failed below it.

use std::fmt::Write;

use super::Style;
use crate::{CaseResult, Cause, Counts, Ending, FunctionRow, Outcome, Presence, Progress};

/// Returns the table of functions, a summary, and each failure in full.
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
        skips(&mut text, &outcome.cases);
    }
    for cause in &outcome.causes {
        failure(&mut text, outcome, cause, style, verbose);
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
    let count = |presence| outcome.functions.iter().filter(|row| row.presence == presence).count();
    let filled = match count(Presence::Filled) {
        0 => String::new(),
        filled => format!(" and {filled} filled with the spec's fallbacks"),
    };
    let _ = writeln!(
        text,
        "{} of {} functions{filled}, level `{}`",
        count(Presence::Native),
        outcome.functions.len(),
        outcome.level.name()
    );
    if let [first, others @ ..] = &plugin.open_symbols[..] {
        let others = match others.len() {
            0 => String::new(),
            count => format!(" and {count} more functions"),
        };
        let why = if outcome.source.has_host() {
            "not in the PaddlePaddle of `--host`: a case that reaches one is skipped"
        } else {
            "not loaded: a case that reaches one is skipped; `--host PYTHON` loads them"
        };
        let _ = writeln!(text, "`{first}`{others} of PaddlePaddle {why}");
    }
}

/// Returns a row without a case repeats the line of functions that are left out.
fn is_shown(row: &FunctionRow, filtered: bool) -> bool {
    let is_there = matches!(row.presence, Presence::Native | Presence::Filled);
    row.passed + row.failed + row.blocked > 0 || (!filtered && (is_there || row.required))
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
    let failure = match &row.first_failure {
        Some(message) => format!("  {message}"),
        None if row.blocked > 0 => style.faint(&format!("  {} not tested", row.blocked)),
        None => String::new(),
    };
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
    of(Presence::Missing, "left out, without a fallback");
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

/// Writes why cases were skipped.
pub(super) fn skips(text: &mut String, cases: &[CaseResult]) {
    let skipped = cases.iter().filter_map(|case| match &case.ending {
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

/// Cases that failed for one reason: the first in full, and the names of the others.
fn failure(text: &mut String, outcome: &Outcome, cause: &Cause, style: Style, verbose: bool) {
    let Some(case) = cause.failed.first().and_then(|id| outcome.cases.iter().find(|case| case.id == *id))
    else {
        return;
    };
    broken(text, case, &cause.message, style);
    let level = case.level.name();
    let fallbacks = if outcome.fallbacks { " --fallbacks" } else { "" };
    let _ = writeln!(
        text,
        "  again:    tenon check {} --level {level}{fallbacks} --filter {}",
        outcome.source.text(),
        case.id
    );
    others(text, "as well:  ", &cause.failed[1..], style, verbose);
    if !cause.blocked.is_empty() {
        let functions: Vec<String> = cause.functions.iter().map(|name| format!("`{name}`")).collect();
        let needed = functions.join(" or ");
        let _ = writeln!(text, "  not tested, for want of {needed}: {}", cases(cause.blocked.len()));
        others(text, "          ", &cause.blocked, style, verbose);
    }
}

/// Writes what was seen in a case that failed, and what was promised.
pub(super) fn broken(text: &mut String, case: &CaseResult, message: &str, style: Style) {
    let _ = writeln!(text, "\n{} {}", style.bad("FAILED"), style.strong(&case.id));
    let _ = writeln!(text, "  seen:     {message}");
    let _ = writeln!(text, "  promised: {} ({}, level `{}`)", case.promise, case.source, case.level.name());
    if let Some(output) = &case.output {
        let _ = writeln!(text, "  printed:  {}", output.replace('\n', "\n  "));
    }
}

/// Number of names that are shown of cases with the same result.
const NAMES_SHOWN: usize = 8;

/// Writes the names of further cases with the same result.
pub(super) fn others(text: &mut String, title: &str, names: &[String], style: Style, verbose: bool) {
    let most = if verbose { names.len() } else { NAMES_SHOWN };
    for (index, line) in names[..names.len().min(most)].chunks(4).enumerate() {
        let title = if index == 0 { title } else { "          " };
        let _ = writeln!(text, "  {title}{}", style.faint(&line.join(", ")));
    }
    if names.len() > most {
        let more = format!("and {} more, which --verbose lists", names.len() - most);
        let _ = writeln!(text, "            {}", style.faint(&more));
    }
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

fn summary(text: &mut String, outcome: &Outcome, style: Style) {
    let Counts { passed, failed, blocked, skipped } = outcome.counts();
    let reasons = match outcome.causes.len() {
        count if count == failed => String::new(),
        1 => " for 1 reason".to_owned(),
        count => format!(" for {count} reasons"),
    };
    let blocked = if blocked == 0 { String::new() } else { format!("{blocked} not tested, ") };
    let tally = format!("{passed} passed, {failed} failed{reasons}, {blocked}{skipped} skipped");
    let tally = if failed == 0 { style.good(&tally) } else { style.bad(&tally) };
    let seconds = outcome.milliseconds as f64 / 1000.0;
    let _ = writeln!(text, "\n{tally} in {seconds:.1} s");
}

/// Creates the line that shows the progress of a run.
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
