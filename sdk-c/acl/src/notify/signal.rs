//! Signals: values on the host that streams change and wait for.
//!
//! A wait begins when its stream reaches it, and holds the rest of the stream with a latch. Waits end in the order in
//! which they began. When the last [`Setter`] is dropped, nothing can change the value any more, and the remaining
//! waits fail.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use tenon::support::{Condvar, Mutex};

use crate::api::AclError;
use crate::error::{Error, Result};
use crate::state::failures::Task;
use crate::state::stream::Stream;
use crate::stream::completion;
use crate::wait::latch::{Latch, LatchGuard};
use crate::wait::workers;

/// A change of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Set(u32),
    Add(u32),
    Or(u32),
    And(u32),
}

impl Change {
    pub(super) fn apply(self, value: u32) -> u32 {
        match self {
            Change::Set(new) => new,
            Change::Add(by) => value.wrapping_add(by),
            Change::Or(bits) => value | bits,
            Change::And(bits) => value & bits,
        }
    }
}

/// The condition of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Less(u32),
    Equal(u32),
    More(u32),
    NotLess(u32),
    Bits(u32),
}

impl Condition {
    pub(super) fn holds(self, value: u32) -> bool {
        match self {
            Condition::Less(than) => value < than,
            Condition::Equal(to) => value == to,
            Condition::More(than) => value > than,
            Condition::NotLess(than) => value >= than,
            Condition::Bits(bits) => value & bits == bits,
        }
    }
}

/// The arguments of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) condition: Condition,
    /// True if the value is set to 0 when the wait ends.
    pub(crate) clears: bool,
    /// The longest duration of the wait, from when the stream reaches it.
    pub(crate) timeout: Option<Duration>,
}

struct Waiting {
    number: u64,
    wait: Wait,
    stream: Arc<Stream>,
    /// The epoch of the stream when the wait was submitted.
    epoch: u64,
    guard: LatchGuard,
    task: Task,
}

impl Waiting {
    fn is_dropped(&self) -> bool {
        self.stream.epoch() != self.epoch
    }

    /// Ends the wait with a failure of the stream. Must not be called on a thread of the device or under a lock.
    fn fail(self, error: Error) {
        if !self.is_dropped() {
            self.stream.fail(self.task, error);
        }
    }
}

#[derive(Default)]
struct State {
    value: u32,
    waiting: VecDeque<Waiting>,
    /// The number of waits that have begun.
    count: u64,
    /// The number of [`Setter`]s: handles of the program, and changes queued in streams.
    setters: usize,
}

impl State {
    /// Removes the waits whose condition is true, and those that were dropped with their stream's work.
    fn take_ready(&mut self) -> Vec<Waiting> {
        let mut ready = Vec::new();
        let mut index = 0;
        while let Some(waiting) = self.waiting.get(index) {
            let is_dropped = waiting.is_dropped();
            if !is_dropped && !waiting.wait.condition.holds(self.value) {
                index += 1;
                continue;
            }
            let clears = !is_dropped && waiting.wait.clears;
            ready.extend(self.waiting.remove(index));
            if clears {
                self.value = 0;
                // The new value may satisfy an earlier wait.
                index = 0;
            }
        }
        ready
    }

    /// Removes all waits if no setter is left.
    fn take_hopeless(&mut self) -> VecDeque<Waiting> {
        if self.setters == 0 { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
    }
}

/// The right to change a signal. Dropping the last one fails the remaining waits.
pub(crate) struct Setter(Arc<Signal>);

impl Setter {
    /// Creates a signal, and returns its first setter.
    pub(crate) fn new() -> Self {
        Arc::<Signal>::default().setter()
    }

    /// Returns the value, unless there are other setters, or waits that are queued or have begun.
    pub(crate) fn value_if_unused(&self) -> Option<u32> {
        // Queued waits and changes own the signal.
        let is_queued = Arc::strong_count(&self.0) > 1;
        let state = self.0.state();
        (!is_queued && state.waiting.is_empty()).then_some(state.value)
    }
}

impl Clone for Setter {
    fn clone(&self) -> Self {
        self.0.setter()
    }
}

impl std::ops::Deref for Setter {
    type Target = Arc<Signal>;

    fn deref(&self) -> &Arc<Signal> {
        &self.0
    }
}

impl Drop for Setter {
    fn drop(&mut self) {
        let hopeless = {
            let mut state = self.0.state();
            state.setters -= 1;
            state.take_hopeless()
        };
        self.0.fail_all(hopeless);
    }
}

/// A value that streams change and wait for.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    /// Notified when waits end.
    moved: Condvar,
}

impl Signal {
    fn setter(self: &Arc<Self>) -> Setter {
        self.state().setters += 1;
        Setter(self.clone())
    }

    /// Changes the value now.
    pub(crate) fn change(&self, change: Change) {
        let ready = {
            let mut state = self.state();
            state.value = change.apply(state.value);
            state.take_ready()
        };
        self.release(ready);
    }

    /// Changes the value in stream order.
    pub(crate) fn change_on(self: &Arc<Self>, stream: &Arc<Stream>, change: Change) -> Result<()> {
        let setter = self.setter();
        stream.submit(move |stream| completion::when_reached(stream, move || setter.change(change)))
    }

    /// Holds later work of a stream until the condition is true.
    pub(crate) fn wait_on(self: &Arc<Self>, stream: &Arc<Stream>, wait: Wait) -> Result<()> {
        let (guard, latch) = Latch::closed();
        let signal = self.clone();
        let (number, epoch, task) = (0, stream.epoch(), Task::next());
        let waiting = Waiting { number, wait, stream: stream.clone(), epoch, guard, task };
        let begin = move || signal.begin(waiting);
        stream.submit_and_hold(move |stream| completion::when_reached(stream, begin), latch)
    }

    fn begin(self: Arc<Self>, mut waiting: Waiting) {
        let timeout = waiting.wait.timeout;
        let (number, ready, hopeless) = {
            let mut state = self.state();
            state.count += 1;
            waiting.number = state.count;
            state.waiting.push_back(waiting);
            (state.count, state.take_ready(), state.take_hopeless())
        };
        let is_over = ready.iter().chain(&hopeless).any(|waiting| waiting.number == number);
        self.release(ready);
        self.fail_all(hopeless);
        if let Some(timeout) = timeout.filter(|_| !is_over) {
            // The calling thread may belong to the device, so it must not wait.
            workers::run(move || self.end_at(Instant::now() + timeout, number));
        }
    }

    /// Fails a wait that is not over at the deadline.
    fn end_at(&self, until: Instant, number: u64) {
        let mut state = self.state();
        let late = loop {
            let Some(index) = state.waiting.iter().position(|waiting| waiting.number == number) else {
                return;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break state.waiting.remove(index);
            }
            state = self.moved.wait_timeout(state, left).0;
        };
        drop(state);
        let Some(late) = late else { return };
        let message =
            format!("a wait for a notify took longer than {:?}", late.wait.timeout.unwrap_or_default());
        late.fail(Error::new(AclError::RT_WAIT_TIMEOUT, message));
    }

    /// Releases the streams whose waits are over. Called without the lock, since latches run other code.
    fn release(&self, ready: Vec<Waiting>) {
        if !ready.is_empty() {
            self.moved.notify_all();
        }
        for waiting in ready {
            drop(waiting.guard);
        }
    }

    /// Fails waits that can never end.
    fn fail_all(&self, hopeless: VecDeque<Waiting>) {
        if hopeless.is_empty() {
            return;
        }
        self.moved.notify_all();
        // The caller may be a thread of the device, or hold a lock.
        workers::run(|| {
            for waiting in hopeless {
                let message = "a wait for a notify cannot end: the notify was destroyed, and no stream will set it any more";
                waiting.fail(Error::new(AclError::RT_INVALID_HANDLE, message));
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
