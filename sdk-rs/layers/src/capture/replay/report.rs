//! The result of a replay.

use std::fmt;

use serde::Serialize;
use tenon::device::Function;

use super::super::call::Call;

/// Calls that were not repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The name of the function.
    pub function: &'static str,
    /// The reason.
    pub reason: String,
    /// The number of calls.
    pub calls: u64,
}

/// A call with another result than in the capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The number of the call.
    pub call: u64,
    /// The name of the function.
    pub function: &'static str,
    /// The difference, in words.
    pub what: String,
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The plugin whose calls were repeated.
    pub plugin: String,
    /// The number of repeated calls.
    pub repeated: u64,
    /// The number of calls of other plugins, which were left out.
    pub of_other_plugins: u64,
    /// The calls that were not repeated.
    pub skipped: Vec<Skipped>,
    /// The calls with another status or other bytes.
    pub differences: Vec<Difference>,
    /// The number of copies to the host with the recorded bytes.
    pub equal_contents: u64,
    /// The number of copies to the host with other bytes that the calls alone do not determine.
    pub undetermined_contents: u64,
    /// The number of the call during which the recorded program ended.
    pub ended_in: Option<u64>,
}

impl Report {
    /// Returns true if nothing differs.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }

    pub(super) fn skip(&mut self, function: Function, reason: String) {
        let function = function.name();
        let same = |skipped: &&mut Skipped| skipped.function == function && skipped.reason == reason;
        match self.skipped.iter_mut().find(same) {
            Some(skipped) => skipped.calls += 1,
            None => self.skipped.push(Skipped { function, reason, calls: 1 }),
        }
    }

    pub(super) fn differ(&mut self, call: &Call, what: String) {
        self.differences.push(Difference { call: call.number, function: call.function.name(), what });
    }
}

/// The most differences that are shown.
const SHOWN: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{}: {} calls repeated, {} differ",
            self.plugin,
            self.repeated,
            self.differences.len()
        )?;
        for difference in self.differences.iter().take(SHOWN) {
            writeln!(formatter, "  call {}, {}: {}", difference.call, difference.function, difference.what)?;
        }
        if self.differences.len() > SHOWN {
            writeln!(formatter, "  … and {} more", self.differences.len() - SHOWN)?;
        }
        let contents = self.equal_contents + self.undetermined_contents;
        if contents > 0 {
            writeln!(formatter, "copies to the host: {} with the recorded bytes", self.equal_contents)?;
        }
        if self.undetermined_contents > 0 {
            writeln!(
                formatter,
                "  {} not compared: the repeated calls do not determine their bytes, which operators of the program may have \
                 computed",
                self.undetermined_contents
            )?;
        }
        for skipped in &self.skipped {
            writeln!(
                formatter,
                "not repeated: {} × {}: {}",
                skipped.calls, skipped.function, skipped.reason
            )?;
        }
        if self.of_other_plugins > 0 {
            writeln!(formatter, "not repeated: {} calls of other plugins", self.of_other_plugins)?;
        }
        if let Some(call) = self.ended_in {
            writeln!(formatter, "the recorded program ended in call {call}")?;
        }
        Ok(())
    }
}
