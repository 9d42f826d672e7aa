//! Advice that a program gives about ranges of managed memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::MutexGuard;
use tenon::support::Mutex;

/// A location as the program stated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) number: i32,
    pub(crate) kind: i32,
}

/// The advice for a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeAdvice {
    pub(crate) is_read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    pub(crate) accessed_by: BTreeSet<Location>,
    pub(crate) prefetched: Option<Location>,
}

/// The advice for a block of managed memory. Each entry applies from its offset to the next one; the first offset is
/// 0.
#[derive(Debug)]
pub(crate) struct Advice(Mutex<BTreeMap<usize, RangeAdvice>>);

impl Default for Advice {
    fn default() -> Self {
        Advice(Mutex::new(BTreeMap::from([(0, RangeAdvice::default())])))
    }
}

impl Advice {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, RangeAdvice>> {
        self.0.lock()
    }

    /// Changes the advice for a range.
    pub(crate) fn change(&self, range: &Range<usize>, change: impl Fn(&mut RangeAdvice)) {
        let mut ranges = self.lock();
        for offset in [range.start, range.end] {
            let around = ranges.range(..=offset).next_back().map(|(_, advice)| advice.clone());
            ranges.entry(offset).or_insert(around.unwrap_or_default());
        }
        ranges.range_mut(range.clone()).for_each(|(_, advice)| change(advice));
    }

    /// Returns the advice for each part of a range.
    pub(crate) fn of(&self, range: &Range<usize>) -> Vec<RangeAdvice> {
        let ranges = self.lock();
        let first = ranges.range(..=range.start).next_back();
        let others = ranges.range(range.start + 1..range.end.max(range.start + 1));
        first.into_iter().chain(others).map(|(_, advice)| advice.clone()).collect()
    }
}
