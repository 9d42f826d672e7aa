//! The last accesses of queued work to an allocation, to find conflicting accesses without an order.

use tenon::support::Mutex;

use super::stream_progress::{Progress, WorkId};

/// A read or write of a range.
#[derive(Clone, Copy)]
pub struct Access {
    pub start: u64,
    pub end: u64,
    pub writes: bool,
    /// The queued work; `None`: the call itself.
    pub work: Option<WorkId>,
}

impl Access {
    fn conflicts_with(&self, other: &Access) -> bool {
        self.start < other.end && other.start < self.end && (self.writes || other.writes)
    }

    /// Returns true if all that conflicts with `other` also conflicts with this access.
    fn covers(&self, other: &Access) -> bool {
        self.start <= other.start && other.end <= self.end && (self.writes || !other.writes)
    }
}

/// The accesses to one allocation.
#[derive(Default)]
pub struct Accesses(Mutex<Vec<Access>>);

impl Accesses {
    /// The maximum number of accesses. A further one replaces the oldest, so that a conflict may go unnoticed.
    const MOST: usize = 16;

    /// Adds an access. Returns one from before that conflicts with it and has no order to it; that one is forgotten, so
    /// that it is reported once.
    pub fn add(&self, access: Access, progress: &Progress) -> Option<Access> {
        let mut known = self.0.lock();
        let is_unordered = |other: &Access| {
            other.work.is_some_and(|work| {
                access.work.is_none_or(|later| later.stream() != work.stream())
                    && !progress.comes_before(work, access.work)
            })
        };
        let conflict = known.iter().position(|other| access.conflicts_with(other) && is_unordered(other));
        let conflict = conflict.map(|at| known.remove(at));
        let Some(work) = access.work else { return conflict };
        let is_same_stream = |other: WorkId| other.stream() == work.stream();
        known.retain(|other| !(other.work.is_some_and(is_same_stream) && access.covers(other)));
        if known.len() >= Self::MOST {
            known.retain(|other| other.work.is_some_and(|work| !progress.is_done(work)));
        }
        if known.len() >= Self::MOST {
            known.remove(0);
        }
        known.push(access);
        conflict
    }

    /// Forgets the accesses of work that was not queued after all.
    pub fn forget(&self, work: WorkId) {
        let mut known = self.0.lock();
        known.retain(|access| access.work != Some(work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(start: u64, end: u64, writes: bool, work: WorkId) -> Access {
        Access { start, end, writes, work: Some(work) }
    }

    #[test]
    fn reads_do_not_conflict_and_writes_do() {
        let (progress, accesses) = (Progress::default(), Accesses::default());
        let [a, b, c] = [1, 2, 3].map(|address| progress.begin(0, address));
        assert!(accesses.add(access(0, 8, false, a.queue()), &progress).is_none());
        assert!(accesses.add(access(0, 8, false, b.queue()), &progress).is_none());
        assert!(accesses.add(access(8, 16, true, c.queue()), &progress).is_none());
        assert!(accesses.add(access(7, 9, true, c.queue()), &progress).is_some());
    }

    #[test]
    fn old_accesses_of_many_ranges_take_bounded_room() {
        let (progress, accesses) = (Progress::default(), Accesses::default());
        let stream = progress.begin(0, 1);
        for start in 0..1000 {
            accesses.add(access(start, start + 1, true, stream.queue()), &progress);
        }
        assert!(accesses.0.lock().len() <= Accesses::MOST);
    }

    #[test]
    fn a_conflict_is_reported_once() {
        let (progress, accesses) = (Progress::default(), Accesses::default());
        let stream = progress.begin(0, 1);
        accesses.add(access(0, 8, true, stream.queue()), &progress);
        let host = Access { start: 0, end: 8, writes: false, work: None };
        assert!(accesses.add(host, &progress).is_some());
        assert!(accesses.add(host, &progress).is_none());
    }
}
