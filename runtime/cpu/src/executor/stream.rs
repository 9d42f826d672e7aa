//! The stream: a queue of work, a phase, and a count of what is done.

use super::context;
use super::event::{EventState, Mark};
use super::progress::Progress;
use super::work::Work;
use super::work::record::Record;
use super::work::task::Task;
use super::{Load, Shared};
use crate::error::Error;
use crate::graph::Capture;
use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tenon::device::DeviceId;

/// Set in `progress` while a thread waits for it. The higher bits are the count.
const WAITED: u64 = 1;
const ONE: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// No work.
    Idle,
    /// There is work, but no thread runs it yet.
    Queued,
    /// A thread runs it.
    Running,
    /// It waits for an event, a callback, a graph or a collective, which will resume it.
    Parked,
}

/// Work taken out of an inbox.
pub(super) type Batch = VecDeque<Work>;

pub(super) struct Inbox {
    pub(super) queue: Batch,
    submitted: u64,
    pub(super) phase: Phase,
    /// True if the ready queue holds the stream. It may do so although a synchronising thread
    /// has taken the work over; the pool then finds nothing to do.
    pub(super) listed: bool,
    /// True if the batch of a parked stream has work left.
    pub(super) rest: bool,
    /// The lowest count of work that a thread waits for, while `progress` has `WAITED`.
    awaited: u64,
    failure: Option<Error>,
    capture: Option<Arc<Capture>>,
}

/// The reason why a stream did not queue work.
pub(crate) enum Refused {
    /// The stream is being captured, and the work becomes a node of the capture.
    Captured { capture: Arc<Capture>, work: Work },
    /// The host has no memory for a longer queue.
    OutOfMemory,
}

/// A stream of a device.
pub(crate) struct StreamState {
    pub(crate) handle: usize,
    pub(crate) device: DeviceId,
    pub(super) shared: Arc<Shared>,
    pub(super) load: Arc<Load>,
    pub(super) inbox: Mutex<Inbox>,
    /// Number of submitted pieces of work, readable without the lock.
    pub(super) newest: AtomicU64,
    /// The work taken out of the inbox, locked by whoever runs the stream. Locked before the
    /// inbox where both are needed.
    pub(super) batch: Mutex<Batch>,
    /// Pieces of work done, times `ONE`, plus `WAITED`. One variable holds both so that the two
    /// sides of a wait cannot miss each other.
    progress: Apart<AtomicU64>,
    done: Condvar,
    /// True if there is an unread failure. Written with the lock, and readable without it.
    has_failed: AtomicBool,
}

/// Separates the data that the running thread writes after each piece of work from the cache line that
/// submitting threads lock.
#[repr(align(64))]
pub(super) struct Apart<T>(T);

impl StreamState {
    pub(crate) fn new(handle: usize, device: DeviceId, shared: &Arc<Shared>, load: &Arc<Load>) -> Arc<Self> {
        Arc::new(Self {
            handle,
            device,
            shared: shared.clone(),
            load: load.clone(),
            inbox: Mutex::new(Inbox {
                queue: VecDeque::new(),
                submitted: 0,
                phase: Phase::Idle,
                listed: false,
                rest: false,
                awaited: u64::MAX,
                failure: None,
                capture: None,
            }),
            newest: AtomicU64::new(0),
            batch: Mutex::new(VecDeque::new()),
            progress: Apart(AtomicU64::new(0)),
            done: Condvar::new(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Queues work, or runs it at once if it is short and the stream is idle.
    pub(crate) fn submit(self: &Arc<Self>, work: Work) -> Result<(), Refused> {
        let mut inbox = self.inbox.lock();
        if let Some(capture) = &inbox.capture {
            return Err(Refused::Captured { capture: capture.clone(), work });
        }
        if inbox.queue.try_reserve(1).is_err() {
            return Err(Refused::OutOfMemory);
        }
        self.accept(inbox, work);
        Ok(())
    }

    /// Submits work like `submit`, on a stream that no capture can include.
    pub(crate) fn submit_internal(self: &Arc<Self>, work: Work) {
        self.accept(self.inbox.lock(), work);
    }

    fn accept(self: &Arc<Self>, inbox: MutexGuard<'_, Inbox>, work: Work) {
        if inbox.phase == Phase::Idle && work.runs_inline() {
            // Submitted under the lock, so that no later work can overtake it.
            work.execute(&self.shared, &**self);
        } else {
            self.push(inbox, work);
        }
    }

    /// Queues several pieces with nothing in between, whether the stream is captured or not.
    pub(crate) fn submit_all(self: &Arc<Self>, works: Vec<Work>) {
        let mut inbox = self.inbox.lock();
        let mut works = works.into_iter();
        if inbox.phase != Phase::Idle {
            inbox.submitted += works.len() as u64;
            inbox.queue.extend(works);
        } else if let Some(first) = works.next() {
            // The rest is queued behind the first piece, which does not start before the lock is released.
            inbox.submitted += 1 + works.len() as u64;
            inbox.queue.push_back(first);
            inbox.queue.extend(works);
            self.load.enter();
            self.list(inbox);
        }
    }

    /// Records the event at the end of the queued work. Fails with the capture if the stream is being captured.
    pub(crate) fn record(self: &Arc<Self>, event: &EventState) -> Result<(), Arc<Capture>> {
        let mut inbox = self.inbox.lock();
        if let Some(capture) = &inbox.capture {
            return Err(capture.clone());
        }
        if inbox.phase == Phase::Idle {
            event.set(Mark::Done { at: self.shared.clock.now_ns(), failure: inbox.failure.clone() });
        } else {
            event.set(Mark::Pending(self.push_record(&mut inbox)));
        }
        Ok(())
    }

    /// Returns a record of the end of the queued work, or none if there is no work.
    pub(crate) fn mark(self: &Arc<Self>) -> Option<Arc<Record>> {
        let mut inbox = self.inbox.lock();
        (inbox.phase != Phase::Idle).then(|| self.push_record(&mut inbox))
    }

    fn push_record(self: &Arc<Self>, inbox: &mut Inbox) -> Arc<Record> {
        inbox.submitted += 1;
        let record = Record::new(self.clone(), inbox.submitted);
        inbox.queue.push_back(Work::Record(record.clone()));
        record
    }

    /// Queues `work` behind all queued work, or drops it if the stream is idle.
    pub(crate) fn leave_behind(self: &Arc<Self>, work: impl FnOnce() -> Work) {
        let inbox = self.inbox.lock();
        // The phase is no answer: a stream becomes idle only a moment after its last work is complete.
        if self.completed() < inbox.submitted {
            self.push(inbox, work());
        }
    }

    fn push(self: &Arc<Self>, mut inbox: MutexGuard<'_, Inbox>, work: Work) {
        inbox.submitted += 1;
        if inbox.phase != Phase::Idle {
            inbox.queue.push_back(work);
            self.newest.store(inbox.submitted, Ordering::Relaxed);
            return;
        }
        self.load.enter();
        // Work that parks the stream at once needs no thread of the pool.
        match work {
            Work::Wait(record) => {
                inbox.phase = Phase::Parked;
                drop(inbox);
                if !record.subscribe(self.clone()) {
                    record.hand_on_failure(&**self);
                    self.clone().resume();
                }
            }
            Work::Callback { task } => {
                inbox.phase = Phase::Parked;
                drop(inbox);
                self.call(task);
            }
            Work::Fork(start) => {
                inbox.phase = Phase::Parked;
                drop(inbox);
                start(self.clone());
            }
            work => {
                inbox.queue.push_back(work);
                self.list(inbox);
            }
        }
    }

    /// Makes the stream ready to run.
    pub(super) fn list(self: &Arc<Self>, mut inbox: MutexGuard<'_, Inbox>) {
        inbox.phase = Phase::Queued;
        let list = !std::mem::replace(&mut inbox.listed, true);
        drop(inbox);
        if list && !self.shared.ready.push(self.clone()) {
            self.shared.settle();
        }
    }

    /// Passes a callback to the callback thread. The stream is parked.
    pub(super) fn call(self: &Arc<Self>, task: Task) {
        if !self.shared.callbacks.push(self.clone(), task) {
            self.shared.settle();
        }
    }

    pub(super) fn complete_one(&self) {
        if self.progress.0.fetch_add(ONE, Ordering::AcqRel) & WAITED != 0 {
            // Because of the lock, the waiter either sees the new count or is already waiting.
            let mut inbox = self.inbox.lock();
            // Waking a thread for each piece before the last one would take longer than most pieces.
            if self.completed() < inbox.awaited {
                return;
            }
            inbox.awaited = u64::MAX;
            self.progress.0.fetch_and(!WAITED, Ordering::AcqRel);
            drop(inbox);
            self.done.notify_all();
        }
    }

    /// Blocks until the work submitted so far is done.
    pub(crate) fn synchronize(self: &Arc<Self>) {
        let submitted = self.inbox.lock().submitted;
        self.clone().wait_for(submitted);
    }

    /// Returns true if the work submitted so far is done.
    pub(crate) fn is_done(&self) -> bool {
        let inbox = self.inbox.lock();
        self.completed() >= inbox.submitted
    }

    /// Returns true if the work submitted so far is done and has not failed, and the stream is not captured.
    pub(crate) fn is_idle(&self) -> bool {
        let inbox = self.inbox.lock();
        self.completed() >= inbox.submitted && inbox.failure.is_none() && inbox.capture.is_none()
    }

    /// Returns the capture that the stream is part of.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.inbox.lock().capture.clone()
    }

    /// Makes the stream part of a capture; false if it is part of one already.
    pub(crate) fn join_capture(&self, capture: &Arc<Capture>) -> bool {
        let mut inbox = self.inbox.lock();
        let free = inbox.capture.is_none();
        if free {
            inbox.capture = Some(capture.clone());
        }
        free
    }

    /// Ends the stream's part in this capture.
    pub(crate) fn leave_capture(&self, capture: &Arc<Capture>) {
        let mut inbox = self.inbox.lock();
        if inbox.capture.as_ref().is_some_and(|own| Arc::ptr_eq(own, capture)) {
            inbox.capture = None;
        }
    }
}

impl Progress for StreamState {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn handle(&self) -> usize {
        self.handle
    }

    fn completed(&self) -> u64 {
        self.progress.0.load(Ordering::Acquire) / ONE
    }

    fn fail(&self, error: Error) {
        let mut inbox = self.inbox.lock();
        inbox.failure.get_or_insert(error);
        self.has_failed.store(true, Relaxed);
    }

    fn failure(&self) -> Option<Error> {
        // The work that failed, and what asks for its failure, run one after the other.
        if self.has_failed.load(Relaxed) { self.inbox.lock().failure.clone() } else { None }
    }

    fn take_failure(&self) -> Option<Error> {
        let mut inbox = self.inbox.lock();
        self.has_failed.store(false, Relaxed);
        inbox.failure.take()
    }

    fn wait_for(self: Arc<Self>, place: u64) {
        let mut is_settled = false;
        let mut inbox = self.inbox.lock();
        loop {
            if self.completed() >= place {
                return;
            }
            if inbox.phase == Phase::Queued {
                inbox.phase = Phase::Running;
                drop(inbox);
                self.run(Some(place));
                inbox = self.inbox.lock();
                continue;
            }
            if !std::mem::replace(&mut is_settled, true) {
                drop(inbox);
                self.shared.settle_after_fork();
                inbox = self.inbox.lock();
                continue;
            }
            inbox.awaited = inbox.awaited.min(place);
            if self.progress.0.fetch_or(WAITED, Ordering::AcqRel) / ONE >= place {
                return;
            }
            inbox = self.done.wait(inbox);
        }
    }

    fn run_listed(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        inbox.listed = false;
        if inbox.phase == Phase::Queued {
            inbox.phase = Phase::Running;
            drop(inbox);
            self.run(None);
        }
    }

    fn resume(self: Arc<Self>) {
        self.complete_one();
        let mut inbox = self.inbox.lock();
        debug_assert_eq!(inbox.phase, Phase::Parked);
        if std::mem::take(&mut inbox.rest) || !inbox.queue.is_empty() {
            match context::pass_records() {
                Some(_passing) => {
                    inbox.phase = Phase::Running;
                    drop(inbox);
                    self.pass_records();
                }
                None => self.list(inbox),
            }
        } else {
            inbox.phase = Phase::Idle;
            self.load.leave();
        }
    }
}
