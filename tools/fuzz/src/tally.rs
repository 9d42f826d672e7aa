//! Counts of calls, by function and by status.

use std::collections::BTreeMap;

use tenon::device::Function;
use tenon_sdk_c::Status;

/// Number of calls, for each function and status.
pub struct Tally {
    counts: Vec<BTreeMap<i32, u64>>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: vec![BTreeMap::new(); Function::ALL.len()] }
    }
}

impl Tally {
    /// Counts a call.
    pub fn add(&mut self, function: Function, status: Status) {
        *self.counts[function as usize].entry(status.0).or_default() += 1;
    }

    /// Returns the number of calls of all functions.
    pub fn calls(&self) -> u64 {
        self.counts.iter().flat_map(BTreeMap::values).sum()
    }

    /// Returns the functions of which no call passed the checks of the arguments.
    pub fn not_reached(&self) -> Vec<Function> {
        self.without(|status| !is_refusal(status))
    }

    /// Returns the functions of which no call succeeded, each with its most frequent status that is no refusal.
    pub fn not_succeeded(&self) -> Vec<(Function, Option<Status>)> {
        let most = |function: Function| {
            let statuses = self.counts[function as usize].iter();
            let found = statuses.filter(|(status, _)| !is_refusal(Status(**status)));
            found.max_by_key(|(_, count)| **count).map(|(status, _)| Status(*status))
        };
        let functions = self.without(|status| status == Status::SUCCESS);
        functions.into_iter().map(|function| (function, most(function))).collect()
    }

    fn without(&self, is_wanted: impl Fn(Status) -> bool) -> Vec<Function> {
        let has = |function: &Function| {
            self.counts[*function as usize].keys().any(|status| is_wanted(Status(*status)))
        };
        Function::ALL.into_iter().filter(|function| !has(function)).collect()
    }
}

/// Returns true if the library or a layer refused the arguments.
fn is_refusal(status: Status) -> bool {
    [Status::INVALID_ARGUMENT, Status::INVALID_HANDLE, Status::REFUSED].contains(&status)
}
