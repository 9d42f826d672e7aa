//! Host callbacks, on a dedicated thread: a slow callback delays other callbacks, as
//! with CUDA, but never a thread of the pool.

use super::progress::Progress;
use super::work::task::{Task, report};
use super::{Shared, context};
use crate::profiler::Activity;
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

struct State {
    calls: VecDeque<(Arc<dyn Progress>, Task)>,
    open: bool,
}

/// Callbacks whose turn in their stream has come.
pub(crate) struct CallbackQueue {
    state: Mutex<State>,
    wake: Condvar,
}

impl CallbackQueue {
    /// Creates a closed queue.
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { calls: VecDeque::new(), open: false }), wake: Condvar::new() }
    }

    pub(crate) fn open(&self) {
        self.state.lock().open = true;
    }

    pub(crate) fn close(&self) {
        self.state.lock().open = false;
        self.wake.notify_one();
    }

    /// Queues the callback of a parked stream, which it resumes afterwards; false if no thread
    /// serves the queue, so that the caller must.
    pub(crate) fn push(&self, stream: Arc<dyn Progress>, task: Task) -> bool {
        let mut state = self.state.lock();
        state.calls.push_back((stream, task));
        let open = state.open;
        drop(state);
        self.wake.notify_one();
        open
    }

    /// Runs callbacks until the queue is closed and empty.
    pub(crate) fn serve(&self, shared: &Shared) {
        loop {
            if self.run_one(shared) {
                continue;
            }
            let mut state = self.state.lock();
            while state.calls.is_empty() {
                if !state.open {
                    return;
                }
                state = self.wake.wait(state);
            }
        }
    }

    /// Runs one callback. Returns false if there is none.
    pub(crate) fn run_one(&self, shared: &Shared) -> bool {
        let call = self.state.lock().calls.pop_front();
        let Some((stream, task)) = call else { return false };
        {
            let _inside = context::enter();
            let result = shared.traced(&*stream, Activity::Callback, "callback", || task.call());
            report(&*stream, "callback", result);
        }
        stream.resume();
        true
    }
}
