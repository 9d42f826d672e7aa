//! Reports of broken rules, and where they go.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenon::support::Mutex;

use tenon::support::write_line;

use crate::validate::rules::{Rule, Severity};

/// A broken rule.
#[derive(Clone, Debug)]
pub struct Report {
    /// The rule.
    pub rule: Rule,
    /// The function that was called; for a leak, the call that ended the device.
    pub function: &'static str,
    /// The parameter that is to blame, if it is one.
    pub parameter: Option<&'static str>,
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The device that was named in the call.
    pub device: Option<i32>,
    /// The message, with the values.
    pub message: String,
    /// The calls that created or destroyed the object, as far as they were recorded.
    pub place: Option<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {}", self.rule.severity(), self.rule, self.function)?;
        if let Some(parameter) = self.parameter {
            write!(formatter, "({parameter})")?;
        }
        write!(formatter, " on {}", self.plugin)?;
        if let Some(device) = self.device {
            write!(formatter, ":{device}")?;
        }
        write!(formatter, ": {}", self.message)?;
        match &self.place {
            Some(place) => write!(formatter, "\n{place}"),
            None => Ok(()),
        }
    }
}

/// Receives reports, on the thread that broke the rule.
pub trait Sink: Send + Sync + 'static {
    /// Takes a report.
    fn report(&self, report: &Report);
}

impl<F: Fn(&Report) + Send + Sync + 'static> Sink for F {
    fn report(&self, report: &Report) {
        self(report);
    }
}

/// Writes reports to standard error, the first twenty of each rule.
#[derive(Debug, Default)]
pub struct Stderr {
    shown: Mutex<Vec<(Rule, u32)>>,
}

impl Stderr {
    /// Maximum number of reports of one rule that are shown.
    pub const MOST: u32 = 20;

    fn count(&self, rule: Rule) -> u32 {
        let mut shown = self.shown.lock();
        match shown.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                shown.push((rule, 1));
                1
            }
        }
    }
}

impl Sink for Stderr {
    fn report(&self, report: &Report) {
        match self.count(report.rule) {
            1 => write_line(format_args!("{report}\n       {}", report.rule.explanation())),
            count if count < Self::MOST => write_line(format_args!("{report}")),
            Self::MOST => {
                write_line(format_args!("{report}\n       further reports of {} are not shown", report.rule));
            }
            _ => {}
        }
    }
}

/// Number of broken rules by severity.
#[derive(Debug, Default)]
pub(super) struct Counts {
    errors: AtomicU64,
    warnings: AtomicU64,
}

impl Counts {
    pub(super) fn add(&self, severity: Severity) {
        self.of(severity).fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn of(&self, severity: Severity) -> &AtomicU64 {
        match severity {
            Severity::Error => &self.errors,
            Severity::Warning => &self.warnings,
        }
    }
}
