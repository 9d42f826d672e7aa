//! The table as text and Markdown.

use tenon::device::Release;

use super::row::{Cell, Conformance, Origin, Row, Support};
use super::runs::Library;
use crate::doctor::verdict::Verdict;

/// A table: a heading and lines, and remarks below them.
pub struct Table {
    pub lines: Vec<Vec<String>>,
    pub remarks: Vec<String>,
}

/// Makes the table of plugins of PaddlePaddle.
pub fn of_plugins(rows: &[Row]) -> Table {
    Table { lines: lines(rows), remarks: remarks(rows) }
}

/// Makes the table of libraries that were run in releases of a host. `columns` are the titles of their names and of those of
/// their devices.
pub fn of_runs(rows: &[Library], columns: [&str; 2]) -> Table {
    let mut heading = columns.map(str::to_owned).to_vec();
    heading.extend(
        rows.first().into_iter().flat_map(|row| row.releases.iter().map(|cell| cell.version.clone())),
    );
    let mut lines = vec![heading];
    let mut remarks = Vec::new();
    for row in rows {
        let mut line = vec![row.name.clone(), row.device.clone().unwrap_or_else(|| "-".to_owned())];
        line.extend(row.releases.iter().map(|cell| cell.verdict.word().to_owned()));
        lines.push(line);
        // The reasons for the same verdict differ in numbers of lines and times, so that one of them is enough.
        let mut reasons: Vec<(Verdict, &str, Vec<&str>)> = Vec::new();
        for cell in &row.releases {
            let Some(reason) = &cell.reason else { continue };
            match reasons.iter_mut().find(|(verdict, ..)| *verdict == cell.verdict) {
                Some((_, newest, versions)) => {
                    *newest = reason;
                    versions.push(&cell.version);
                }
                None => reasons.push((cell.verdict, reason, vec![&cell.version])),
            }
        }
        for (_, reason, versions) in reasons {
            remarks.push(format!("{} in {}: {reason}", row.name, versions.join(", ")));
        }
    }
    Table { lines, remarks }
}

/// Returns the table with aligned columns, and the remarks below it.
pub fn text(Table { lines, remarks }: &Table) -> String {
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    if !remarks.is_empty() {
        text.push('\n');
    }
    remarks.iter().for_each(|remark| text += &format!("{remark}\n"));
    text
}

/// Returns the table in Markdown, and the remarks below it.
pub fn markdown(Table { lines, remarks }: &Table) -> String {
    let row = |cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        text += &row(line);
        if index == 0 {
            text += &row(&vec!["---".to_owned(); line.len()]);
        }
    }
    if !remarks.is_empty() {
        text.push('\n');
    }
    remarks.iter().for_each(|remark| text += &format!("- {remark}\n"));
    text
}

/// Returns the cells: a heading, and a line for each plugin.
fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let mut heading = vec!["Plugin".to_owned(), "Device type".to_owned()];
    heading.extend(Release::ALL.into_iter().map(|release| release.name().to_owned()));
    heading.extend(["Functions", "Operators", "Made with"].map(str::to_owned));
    let mut lines = vec![heading];
    lines.extend(rows.iter().map(line));
    lines
}

fn line(row: &Row) -> Vec<String> {
    let unknown = || "?".to_owned();
    let mut line = vec![name(row), row.device_type.clone().unwrap_or_else(unknown)];
    line.extend(row.releases.iter().map(cell));
    line.push(match (row.native, row.fallback) {
        (Some(native), None | Some(0)) => native.to_string(),
        (Some(native), Some(fallback)) => format!("{native} + {fallback} by fallback"),
        (None, _) => unknown(),
    });
    let operators = row.manifest.as_ref().map(|manifest| manifest.operators.len());
    line.push(operators.filter(|count| *count > 0).map_or("-".to_owned(), |count| count.to_string()));
    line.push(match (&row.manifest, row.source) {
        (Some(manifest), _) => {
            let architecture = row.architecture.as_deref().unwrap_or_default();
            format!("Tenon {}, {}, {architecture}", manifest.build.tenon, manifest.build.language)
        }
        (None, Origin::Loaded) => "no manifest; it was loaded".to_owned(),
        (None, _) => unknown(),
    });
    line
}

fn name(row: &Row) -> String {
    row.file.file_name().unwrap_or(row.file.as_os_str()).to_string_lossy().into_owned()
}

fn cell(cell: &Cell) -> String {
    match &cell.conformance {
        Some(Conformance::Tested { passed, failed: 0 }) => format!("passed {passed}"),
        Some(Conformance::Tested { passed, failed }) => format!("failed {failed} of {}", passed + failed),
        Some(Conformance::Untested(_)) => "not tested".to_owned(),
        None => match cell.support {
            Support::Yes => "yes".to_owned(),
            Support::Loads => "loads".to_owned(),
            Support::No => "no".to_owned(),
            Support::Unknown => "?".to_owned(),
        },
    }
}

/// Returns the reasons for cells that are empty.
fn remarks(rows: &[Row]) -> Vec<String> {
    let mut remarks = Vec::new();
    for row in rows {
        remarks.extend(row.problem.iter().map(|problem| format!("{}: {problem}", row.file.display())));
        for cell in &row.releases {
            if let Some(Conformance::Untested(reason)) = &cell.conformance {
                remarks.push(format!("{}, {}: {reason}", row.file.display(), cell.release));
            }
        }
    }
    remarks
}
