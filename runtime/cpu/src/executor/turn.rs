//! Runs a stream on a thread: its work in order, until it parks, becomes idle or its turn ends.

use super::context;
use super::progress::Progress;
use super::stream::{Batch, Inbox, Phase, StreamState};
use super::work::Work;
use super::work::record::Record;
use crate::sync::{MutexGuard, Ordering, hint};
use std::sync::Arc;

/// The maximum number of pieces of work that a thread runs for one stream before it takes the next stream.
const TURN: usize = 128;

/// A queue that is longer than this frees its memory when the stream becomes idle.
const KEPT_CAPACITY: usize = 4096;

/// The number of times that a thread polls for more work before the stream becomes idle: one or two microseconds.
const LOOKS: usize = if cfg!(loom) { 1 } else { 50 };

impl StreamState {
    /// Runs queued work: for a turn, or until the work up to `until` is complete.
    ///
    /// The caller has set the phase to `Running`, so only one thread runs the stream at a time.
    pub(super) fn run(self: &Arc<Self>, until: Option<u64>) {
        let _inside = context::enter();
        let mut left = TURN;
        let mut batch = self.batch.lock();
        loop {
            let Some(work) = batch.pop_front() else {
                if !self.refill(&mut batch, until.is_none()) {
                    return;
                }
                continue;
            };
            match work {
                Work::Wait(record) if !record.is_done() => {
                    self.park(batch);
                    if record.subscribe(self.clone()) {
                        return;
                    }
                    self.unpark();
                    record.hand_on_failure(&**self);
                    batch = self.batch.lock();
                    self.complete_one();
                }
                Work::Wait(record) => {
                    record.hand_on_failure(&**self);
                    self.complete_one();
                }
                Work::Callback { task } => {
                    self.park(batch);
                    self.call(task);
                    return;
                }
                Work::Fork(start) => {
                    self.park(batch);
                    start(self.clone());
                    return;
                }
                Work::Record(record) => self.pass_record(&record),
                work => {
                    work.execute(&self.shared, &**self);
                    self.complete_one();
                }
            }
            let over = match until {
                Some(place) => self.completed() >= place,
                None => {
                    left -= 1;
                    if left == 0 && !self.shared.ready.has_jobs() {
                        // No other stream needs the thread, so the work need not move to another thread.
                        left = TURN;
                    }
                    left == 0
                }
            };
            if over {
                self.end_turn(batch);
                return;
            }
        }
    }

    /// Passes the records at the front of the queued work, and lists the stream if there is other work.
    ///
    /// The thread that resumes the stream calls it, so streams that wait for its events need no other thread.
    pub(super) fn pass_records(self: &Arc<Self>) {
        let mut batch = self.batch.lock();
        loop {
            if batch.is_empty() && !self.refill(&mut batch, false) {
                return;
            }
            let Some(Work::Record(record)) = batch.front() else {
                self.end_turn(batch);
                return;
            };
            let record = record.clone();
            batch.pop_front();
            self.pass_record(&record);
        }
    }

    fn pass_record(&self, record: &Record) {
        record.pass(self.shared.clock.now_ns(), self.failure());
        self.complete_one();
        record.resume_waiters();
    }

    /// Takes the work of the inbox. If there is none, the stream becomes idle.
    ///
    /// A pool thread that is faster than the submitting thread polls for more work first: becoming idle and being
    /// queued again takes longer than most short work.
    fn refill(&self, batch: &mut Batch, mut may_linger: bool) -> bool {
        loop {
            let mut inbox = self.inbox.lock();
            if !inbox.queue.is_empty() {
                std::mem::swap(&mut inbox.queue, batch);
                return true;
            }
            if !may_linger {
                self.fall_idle(&mut inbox, batch);
                return false;
            }
            drop(inbox);
            self.linger();
            may_linger = false;
        }
    }

    /// Polls for work, unless other streams wait for the thread. The result is only a hint.
    fn linger(&self) {
        for _ in 0..LOOKS {
            if self.newest.load(Ordering::Relaxed) > self.completed() || self.shared.ready.has_jobs() {
                return;
            }
            hint::spin_loop();
        }
    }

    fn end_turn(self: &Arc<Self>, mut batch: MutexGuard<'_, Batch>) {
        let mut inbox = self.inbox.lock();
        if batch.is_empty() && inbox.queue.is_empty() {
            self.fall_idle(&mut inbox, &mut batch);
        } else {
            drop(batch);
            self.list(inbox);
        }
    }

    /// Marks the stream as parked. From here on another thread may resume it at any time.
    fn park(&self, batch: MutexGuard<'_, Batch>) {
        let mut inbox = self.inbox.lock();
        inbox.phase = Phase::Parked;
        inbox.rest = !batch.is_empty();
    }

    /// Undoes the parking if nothing will resume the stream.
    fn unpark(&self) {
        let mut inbox = self.inbox.lock();
        inbox.phase = Phase::Running;
        inbox.rest = false;
    }

    fn fall_idle(&self, inbox: &mut Inbox, batch: &mut Batch) {
        inbox.phase = Phase::Idle;
        if batch.capacity() > KEPT_CAPACITY {
            *batch = Batch::new();
        }
        if inbox.queue.capacity() > KEPT_CAPACITY {
            inbox.queue = Batch::new();
        }
        self.load.leave();
    }
}
