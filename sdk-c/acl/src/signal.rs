//! Signals: numbers that streams change, and that others wait for.
//!
//! A device knows no such thing, so a wait is a gate before the rest of the stream, and the number is the host's. A wait
//! begins when its stream comes to it; of several, the one that has waited longest goes first. When there is nobody left
//! who could change the number, see [`Setter`], whoever still waits is let go with a failure.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::api::AclError;
use crate::error::{Error, Result};
use crate::exception::Task;
use crate::gate::{Gate, Key};
use crate::stream::Stream;
use crate::{arrival, workers};

/// How a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Set(u32),
    Add(u32),
    Or(u32),
    And(u32),
}

impl Change {
    fn of(self, value: u32) -> u32 {
        match self {
            Change::Set(new) => new,
            Change::Add(by) => value.wrapping_add(by),
            Change::Or(bits) => value | bits,
            Change::And(bits) => value & bits,
        }
    }
}

/// What a wait wants of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Less(u32),
    Equal(u32),
    More(u32),
    NotLess(u32),
    Bits(u32),
}

impl Want {
    fn is_met(self, value: u32) -> bool {
        match self {
            Want::Less(than) => value < than,
            Want::Equal(to) => value == to,
            Want::More(than) => value > than,
            Want::NotLess(than) => value >= than,
            Want::Bits(bits) => value & bits == bits,
        }
    }
}

/// A wait as a program asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) want: Want,
    /// Whether the number becomes 0 when the wait is over.
    pub(crate) clears: bool,
    /// How long it may take from when the stream comes to it.
    pub(crate) patience: Option<Duration>,
}

struct Waiting {
    number: u64,
    wait: Wait,
    stream: Arc<Stream>,
    /// How often the stream had been abandoned when it was given the wait.
    epoch: u64,
    key: Key,
    task: Task,
}

impl Waiting {
    fn is_over(&self) -> bool {
        self.stream.epoch() != self.epoch
    }

    /// Lets the stream go on with a failure. Not for a thread of the device, and not under a lock.
    fn fail(self, error: Error) {
        if !self.is_over() {
            self.stream.exceptions.fail(&self.stream, self.task, error);
        }
    }
}

#[derive(Default)]
struct State {
    value: u32,
    waiting: VecDeque<Waiting>,
    /// How many waits there ever were.
    count: u64,
    /// How many can change the number: handles of the program's and changes in streams.
    setters: usize,
}

impl State {
    /// Takes out whoever has what it waits for, and whoever waits for nothing any more.
    fn take_ready(&mut self) -> Vec<Waiting> {
        let mut ready = Vec::new();
        let mut index = 0;
        while let Some(waiting) = self.waiting.get(index) {
            let is_over = waiting.is_over();
            if !is_over && !waiting.wait.want.is_met(self.value) {
                index += 1;
                continue;
            }
            let clears = !is_over && waiting.wait.clears;
            ready.extend(self.waiting.remove(index));
            if clears {
                self.value = 0;
                // Another number may be what somebody before has waited for.
                index = 0;
            }
        }
        ready
    }

    /// Takes out whoever waits in vain, since there is nobody left who could change the number.
    fn take_hopeless(&mut self) -> VecDeque<Waiting> {
        if self.setters == 0 { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
    }
}

/// Somebody who can change a number. With the last one go the waits that its present value does not end.
pub(crate) struct Setter(Arc<Signal>);

impl Setter {
    /// The first one of a number that is new.
    pub(crate) fn new() -> Self {
        Arc::<Signal>::default().setter()
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
        self.0.give_up(hopeless);
    }
}

/// A number that streams change and wait for.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    /// Told when somebody has waited long enough.
    moved: Condvar,
}

impl Signal {
    fn setter(self: &Arc<Self>) -> Setter {
        self.state().setters += 1;
        Setter(self.clone())
    }

    /// Changes the number now.
    pub(crate) fn change(&self, change: Change) {
        let ready = {
            let mut state = self.state();
            state.value = change.of(state.value);
            state.take_ready()
        };
        self.let_go(ready);
    }

    /// Changes the number when a stream comes to the present end of its work.
    pub(crate) fn change_on(self: &Arc<Self>, stream: &Arc<Stream>, change: Change) -> Result<()> {
        let setter = self.setter();
        stream.submit(move |stream| arrival::when_reached(stream, move || setter.change(change)))
    }

    /// Holds what a stream is given from now on until the number is as wanted.
    pub(crate) fn wait_on(self: &Arc<Self>, stream: &Arc<Stream>, wait: Wait) -> Result<()> {
        let (key, gate) = Gate::shut();
        let signal = self.clone();
        let (number, epoch, task) = (0, stream.epoch(), Task::next());
        let waiting = Waiting { number, wait, stream: stream.clone(), epoch, key, task };
        let begin = move || signal.begin(waiting);
        stream.submit_and_hold(move |stream| arrival::when_reached(stream, begin), gate)
    }

    fn begin(self: Arc<Self>, mut waiting: Waiting) {
        let patience = waiting.wait.patience;
        let (number, ready, hopeless) = {
            let mut state = self.state();
            state.count += 1;
            waiting.number = state.count;
            state.waiting.push_back(waiting);
            (state.count, state.take_ready(), state.take_hopeless())
        };
        let is_over = ready.iter().chain(&hopeless).any(|waiting| waiting.number == number);
        self.let_go(ready);
        self.give_up(hopeless);
        if let Some(patience) = patience.filter(|_| !is_over) {
            // The thread that brought this here is not to wait.
            workers::run(move || self.end_at(Instant::now() + patience, number));
        }
    }

    /// Ends a wait that takes too long, with a failure of its stream.
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
            state = self.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(state);
        let Some(late) = late else { return };
        let message =
            format!("a wait for a notify took longer than {:?}", late.wait.patience.unwrap_or_default());
        late.fail(Error::new(AclError::RT_WAIT_TIMEOUT, message));
    }

    /// Lets go on who waits no longer. The keys must not open their gates under the lock.
    fn let_go(&self, ready: Vec<Waiting>) {
        if !ready.is_empty() {
            self.moved.notify_all();
        }
        for waiting in ready {
            drop(waiting.key);
        }
    }

    /// Lets go on who waits in vain, with a failure.
    fn give_up(&self, hopeless: VecDeque<Waiting>) {
        if hopeless.is_empty() {
            return;
        }
        self.moved.notify_all();
        // Whoever is here may be the device's own thread, or hold a lock.
        workers::run(|| {
            for waiting in hopeless {
                let message =
                    "a wait for a notify cannot end: it is destroyed, and no stream will set it any more";
                waiting.fail(Error::new(AclError::RT_INVALID_HANDLE, message));
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
