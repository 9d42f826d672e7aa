//! The report of a run.

use std::collections::BTreeMap;

use super::FileMap;

/// The action of a run on an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not there before.
    Created,
    /// It had another text before.
    Updated,
    /// It had this text already.
    Unchanged,
    /// It is no longer an output.
    Removed,
    /// It is no longer an output, but was changed since it was written, so it now belongs to the user.
    Left,
}

impl Fate {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Fate::Created => "created",
            Fate::Updated => "updated",
            Fate::Unchanged => "unchanged",
            Fate::Removed => "removed",
            Fate::Left => "left",
        }
    }
}

/// One line of the report of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The action.
    pub fate: Fate,
    /// Its path; of many minor outputs, their folder and the ending that they share.
    pub path: String,
    /// A summary of the content.
    pub note: String,
    /// Number of outputs that the line stands for.
    pub count: usize,
}

impl Report {
    pub(super) fn new(fate: Fate, path: &str, note: &str) -> Self {
        Report { fate, path: path.to_owned(), note: note.to_owned(), count: 1 }
    }
}

impl FileMap {
    /// Merges the reports of minor outputs into one line for each folder and fate.
    pub fn summarise(&self, reports: Vec<Report>) -> Vec<Report> {
        let minor: BTreeMap<&str, &str> = self
            .outputs()
            .iter()
            .filter(|output| output.minor)
            .map(|output| (output.path.as_str(), output.folder()))
            .collect();
        let mut lines: Vec<Report> = Vec::new();
        let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for report in reports {
            let Some(folder) = minor.get(report.path.as_str()) else {
                lines.push(report);
                continue;
            };
            match places.get(&(*folder, report.fate.word())) {
                Some(place) => {
                    let line = &mut lines[*place];
                    line.count += 1;
                    line.path = format!("{folder}/*.{}", report.path.rsplit('.').next().unwrap_or_default());
                    line.note = format!("{} files", line.count);
                }
                None => {
                    places.insert((folder, report.fate.word()), lines.len());
                    lines.push(report);
                }
            }
        }
        lines
    }
}
