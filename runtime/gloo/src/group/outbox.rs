//! Messages whose sender goes on before the receiver has them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tenon::support::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::mesh::Sending;

/// Number of bytes that may be under way. A message that would be more waits for those before it.
const MOST_BYTES: usize = 256 << 20;

/// The messages of a member that are under way, and the thread that waits for them, from the first one on.
#[derive(Default)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Sending>,
    /// Also those of the message that the thread waits for.
    bytes: usize,
    messages: usize,
    failure: Option<String>,
    is_closed: bool,
}

impl Outbox {
    /// Waits until there is room for a message of this size.
    ///
    /// # Errors
    /// If an earlier message failed.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<()> {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(Error::Gloo(failure.clone()));
            }
            if state.messages == 0 || state.bytes.saturating_add(bytes) <= MOST_BYTES {
                return Ok(());
            }
            state = self.shared.changed.wait(state);
        }
    }

    /// Takes a message that is under way.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn push(&self, sending: Sending) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let started = thread::Builder::new()
                .name("tenon-send".to_owned())
                .stack_size(256 << 10)
                .spawn(move || shared.run());
            let started =
                started.map_err(|reason| Error::System { action: "cannot start a thread", reason })?;
            *thread = Some(started);
        }
        let mut state = self.shared.state.lock();
        state.bytes += sending.bytes();
        state.messages += 1;
        state.waiting.push_back(sending);
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits until the receivers have all messages, or one has failed.
    pub(crate) fn flush(&self) {
        let mut state = self.shared.state.lock();
        while state.messages > 0 && state.failure.is_none() {
            state = self.shared.changed.wait(state);
        }
    }
}

impl Drop for Outbox {
    /// Waits for the thread. The connections are closed before, if not all messages are complete.
    fn drop(&mut self) {
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.get_mut().take() {
            // The thread does not panic: it only waits.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(sending) = state.waiting.pop_front() else {
                if state.is_closed {
                    return;
                }
                state = self.changed.wait(state);
                continue;
            };
            let bytes = sending.bytes();
            drop(state);
            let outcome = sending.wait();
            state = self.state.lock();
            state.bytes -= bytes;
            state.messages -= 1;
            if let Err(error) = outcome {
                state.failure.get_or_insert_with(|| error.to_string());
            }
            self.changed.notify_all();
        }
    }
}
