//! Findings of the doctor.

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Takes effect, and may be intended.
    Note,
    /// Prevents that the device works.
    Problem,
}

impl Severity {
    /// Returns the word in front of a finding.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Problem => "problem",
        }
    }
}

/// One sentence about a part, and what to do about it.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub severity: Severity,
    pub text: String,
    /// The advice; `None` if nothing is to be done, or if the text contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// A part of the set-up, with what was found.
#[derive(Debug, Serialize)]
pub struct Section {
    /// The name of the part: a file, or the framework.
    pub title: String,
    pub findings: Vec<Finding>,
}

impl Section {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), findings: Vec::new() }
    }

    pub fn ok(&mut self, text: impl Into<String>) {
        self.add(Severity::Ok, text.into(), None);
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.add(Severity::Note, text.into(), None);
    }

    /// Adds a problem whose text says what to do.
    pub fn problem(&mut self, text: impl Into<String>) {
        self.add(Severity::Problem, text.into(), None);
    }

    /// Adds a problem, and what to do about it.
    pub fn problem_with_advice(&mut self, text: impl Into<String>, advice: impl Into<String>) {
        self.add(Severity::Problem, text.into(), Some(advice.into()));
    }

    fn add(&mut self, severity: Severity, text: String, advice: Option<String>) {
        self.findings.push(Finding { severity, text, advice });
    }

    /// Returns the text of the first problem, or of the first note if there is none.
    pub fn first_problem_or_note(&self) -> Option<&str> {
        let first = |severity| self.findings.iter().find(|finding| finding.severity == severity);
        first(Severity::Problem).or_else(|| first(Severity::Note)).map(|finding| &*finding.text)
    }

    /// Returns the number of problems.
    pub fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Problem).count()
    }
}
