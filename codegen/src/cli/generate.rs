//! Writing the outputs, or comparing them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use serde_json::json;

use super::table::Table;
use super::{Answer, Common, DONE, Failure, Format, REFUSED, exports, folder_name, places};
use crate::diagnostic::Diagnostic;
use crate::emit::rust::rustfmt;
use crate::emit::{self, EmitError, Inputs};
use crate::grammar::outputs;
use crate::out::{Difference, Edits, Fate, FileMap, LastRun, OutputError, Report, Setting, Target, record};
use crate::source::{Folder, LONGEST_FILE, Recorded};
use crate::text::count;
use crate::{CheckedSpec, InvalidSpec};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Folder that the paths of outputs start from; if left out, the one that holds the spec's folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write nothing; name what is stale, missing or stray of what is committed, and fail if there is any
    #[arg(long)]
    check: bool,
    /// Replace outputs that were changed since they were written, as a merge does; other files are never
    /// replaced
    #[arg(long, conflicts_with = "check")]
    overwrite: bool,
    /// Name each page of the reference, and how long each step took
    #[arg(long, short)]
    verbose: bool,
}

impl Options {
    /// Returns true if any of them was given.
    pub(super) fn given(&self) -> bool {
        self.out.is_some() || self.check || self.overwrite || self.verbose
    }
}

/// Steps of a run and when each began.
struct Clock {
    start: Instant,
    steps: Vec<(&'static str, Instant)>,
}

impl Clock {
    fn step(&mut self, name: &'static str) {
        self.steps.push((name, Instant::now()));
    }

    fn total(&self) -> Duration {
        self.start.elapsed()
    }

    fn lines(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let ends = self.steps.iter().skip(1).map(|(_, time)| *time).chain([Instant::now()]);
        self.steps.iter().zip(ends).map(|((name, start), end)| (*name, end - *start))
    }
}

pub(super) fn run(common: &Common, options: &Options) -> Result<Answer, Failure> {
    let mut clock = Clock { start: Instant::now(), steps: Vec::new() };
    let start = SystemTime::now();
    let folder = common.folder()?;
    let root = match &options.out {
        Some(out) => out.clone(),
        None => beside(&folder),
    };
    let setting = setting(&root, &folder);
    let last_run = LastRun::read(&setting);
    // Other answers tell more than that nothing changed.
    if common.format == Format::Text
        && !options.verbose
        && let Some(run) = &last_run
        && run.is_current()
    {
        return Ok(nothing_changed(options, run, &clock));
    }
    clock.step("read and check");
    let spec_files = Recorded::new(Folder::new(&folder));
    let loaded = match crate::load(&spec_files) {
        Ok(loaded) => loaded,
        Err(mistakes) => {
            common.show_mistakes(&mistakes, "nothing was written");
            return Ok(Answer::refused());
        }
    };
    let mut read = spec_files.into_paths();
    clock.step("emit");
    let summary = match loaded.spec.outputs.place(&outputs::SUMMARY) {
        Some(place) => {
            let path = root.join(place.read("template"));
            let text = tenon_files::read_text(&path, LONGEST_FILE);
            read.insert(path.clone());
            Some(text.map_err(|source| Failure::Template { path, source: source.into() })?)
        }
        None => None,
    };
    let place = loaded.spec.outputs.place(&outputs::EXPORTS);
    let exports = place.map(|place| exports::read(&root, place)).transpose()?;
    if let Some(place) = place {
        read.extend(exports::sources(&root, place));
    }
    let inputs = Inputs {
        loaded: &loaded,
        folder: &folder_name(&folder),
        summary: summary.as_deref(),
        exports: exports.as_ref(),
        last_run: last_run.as_ref(),
    };
    let emitted = if options.check { emit::emit_committed(&inputs) } else { emit::emit(&inputs) };
    let files = match emitted {
        Err(EmitError::Duplicate(error)) => {
            return Ok(refused(common, loaded, vec![places::twice(&error)]));
        }
        files => files?,
    };
    let over_spec = places::over_spec(&files, &root, &loaded.sources);
    if !over_spec.is_empty() {
        return Ok(refused(common, loaded, over_spec));
    }
    let target = Target::new(&root, &folder, &loaded.spec.project, &loaded.spec.command);
    clock.step(if options.check { "compare" } else { "write" });
    let answer = if options.check {
        files
            .check(&target)
            .map(|differences| differences_found(common, &files, &differences, &loaded.spec.command, &clock))
    } else {
        let edits = if options.overwrite { Edits::Replace } else { Edits::Refuse };
        files.write(&target, edits).map(|reports| {
            record(&setting, &target, &files, &read, start);
            written(common, options, &files, reports, &clock)
        })
    };
    match answer {
        Err(OutputError::Blocked(obstacles)) => match places::outside(&files, &obstacles) {
            outside if outside.is_empty() => Err(OutputError::Blocked(obstacles).into()),
            outside => Ok(refused(common, loaded, outside)),
        },
        answer => Ok(answer?),
    }
}

/// Describes the conditions of a run, apart from the files that it reads.
fn setting(root: &Path, folder: &Path) -> Setting {
    let mut programs: Vec<PathBuf> = std::env::current_exe().into_iter().collect();
    programs.extend(rustfmt::files());
    let variables = rustfmt::VARIABLES.iter().map(|name| {
        let value = std::env::var_os(name).unwrap_or_default();
        format!("{name}={}", value.to_string_lossy())
    });
    let mut values: Vec<String> = variables.collect();
    values.push(folder_name(folder));
    Setting::new(root, folder, &values, &programs)
}

/// Shows errors in the places of outputs.
fn refused(common: &Common, loaded: CheckedSpec, diagnostics: Vec<Diagnostic>) -> Answer {
    common.show_mistakes(&InvalidSpec { diagnostics, sources: loaded.sources }, "nothing was written");
    Answer::refused()
}

/// Returns the parent of a folder; that of `spec` is `.`.
fn beside(folder: &Path) -> PathBuf {
    let ends_in_name = folder.file_name().is_some();
    match folder.parent() {
        Some(parent) if ends_in_name && parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) if ends_in_name => parent.to_owned(),
        _ => folder.join(".."),
    }
}

fn written(
    common: &Common,
    options: &Options,
    files: &FileMap,
    reports: Vec<Report>,
    clock: &Clock,
) -> Answer {
    let unchanged = reports.iter().filter(|report| report.fate == Fate::Unchanged).count();
    let outputs = files.outputs().len();
    let lines = if options.verbose { reports } else { files.summarise(reports) };
    if common.format == Format::Json {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| json!({ "fate": line.fate.word(), "path": line.path, "note": line.note, "count": line.count }))
            .collect();
        let value = json!({
            "status": "done",
            "outputs": lines,
            "unchanged": unchanged,
            "total": outputs,
            "milliseconds": milliseconds(clock.total()),
        });
        return Answer::json(&value, DONE);
    }
    let mut table = Table::new(&["", "", ""]);
    for line in lines.into_iter().filter(|line| options.verbose || line.fate != Fate::Unchanged) {
        table.row([line.fate.word().to_owned(), line.path, line.note]);
    }
    let mut text = table.render();
    if options.verbose {
        for (name, time) in clock.lines() {
            let _ = writeln!(text, "{:>9.1} ms  {name}", time.as_secs_f64() * 1e3);
        }
    }
    text += &sum(outputs, unchanged, clock);
    Answer::done(text)
}

fn sum(outputs: usize, unchanged: usize, clock: &Clock) -> String {
    format!("{}, {unchanged} unchanged, {} ms\n", count(outputs, "output"), milliseconds(clock.total()))
}

fn up_to_date(outputs: usize, clock: &Clock) -> String {
    format!("{}, all up to date, {} ms\n", count(outputs, "output"), milliseconds(clock.total()))
}

fn nothing_changed(options: &Options, run: &LastRun, clock: &Clock) -> Answer {
    let (all, committed) = run.outputs();
    Answer::done(if options.check { up_to_date(committed, clock) } else { sum(all, all, clock) })
}

fn differences_found(
    common: &Common,
    files: &FileMap,
    differences: &[Difference],
    command: &str,
    clock: &Clock,
) -> Answer {
    let total = milliseconds(clock.total());
    let code = if differences.is_empty() { DONE } else { REFUSED };
    if common.format == Format::Json {
        let list: Vec<_> = differences.iter().map(difference_json).collect();
        let status = if differences.is_empty() { "done" } else { "stale" };
        let outputs = files.committed().count();
        let value = json!({ "status": status, "differences": list, "total": outputs, "milliseconds": total });
        return Answer::json(&value, code);
    }
    let mut text: String = differences.iter().map(difference_text).collect();
    if differences.is_empty() {
        text += &up_to_date(files.committed().count(), clock);
    } else {
        let verb = if differences.len() == 1 { "differs" } else { "differ" };
        let files = count(differences.len(), "file");
        let _ = writeln!(text, "error: {files} {verb} from what the spec says; run: {command}");
    }
    Answer { text, code }
}

fn difference_text(difference: &Difference) -> String {
    match difference {
        Difference::Stale { path, line, found, expected } => format!(
            "stale    {path}:{line}\n         is         {}\n         should be  {}\n",
            shown(found),
            shown(expected)
        ),
        Difference::Missing(path) => format!("missing  {path}\n"),
        Difference::Stray(path) => format!("stray    {path}\n"),
    }
}

fn shown(line: &Option<String>) -> String {
    line.as_ref().map_or_else(|| "(the end of the file)".to_owned(), |line| format!("| {line}"))
}

fn difference_json(difference: &Difference) -> serde_json::Value {
    match difference {
        Difference::Stale { path, line, found, expected } => {
            json!({ "kind": "stale", "path": path, "line": line, "found": found, "expected": expected })
        }
        Difference::Missing(path) => json!({ "kind": "missing", "path": path }),
        Difference::Stray(path) => json!({ "kind": "stray", "path": path }),
    }
}

fn milliseconds(duration: Duration) -> u128 {
    duration.as_millis()
}
