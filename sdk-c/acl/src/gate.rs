//! Gates: what a stream waits for that only the host can bring about.
//!
//! A device knows events, which lie in streams. That a callback has run in the thread of its subscriber, or that an event
//! is recorded at all, is nothing that a device can wait for, and a function of the host that waits inside of a stream
//! would hold up every other stream whose callbacks share its thread. So work behind a gate stays here, and goes to the
//! device when the gate has opened.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::stream::Stream;
use crate::workers;

#[derive(Default)]
struct State {
    is_open: bool,
    /// Streams that wait here, each with the gate at the head of its line.
    streams: Vec<Arc<Stream>>,
}

/// Something that is shut and opens once.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

/// What opens a gate: when it is dropped, at the latest. So nothing waits for what cannot come any more.
pub(crate) struct Key(Arc<Gate>);

impl Gate {
    /// A gate that is shut, and what opens it.
    pub(crate) fn shut() -> (Key, Arc<Gate>) {
        let gate = Arc::new(Gate::default());
        (Key(gate.clone()), gate)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state().is_open
    }

    /// Has the stream advanced when the gate opens; false if it is open.
    pub(crate) fn hold(&self, stream: &Arc<Stream>) -> bool {
        let mut state = self.state();
        if !state.is_open {
            state.streams.push(stream.clone());
        }
        !state.is_open
    }

    /// Blocks until the gate is open; false if the time is up before.
    pub(crate) fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = self.state();
        while !state.is_open {
            state = match until {
                None => self.opened.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.opened.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(self: &Arc<Self>) {
        let streams = {
            let mut state = self.state();
            state.is_open = true;
            std::mem::take(&mut state.streams)
        };
        self.opened.notify_all();
        // Whoever opens may be the device's own thread, from which the device must not be called.
        for stream in streams {
            let gate = self.clone();
            workers::run(move || stream.advance(&gate));
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.open();
    }
}
