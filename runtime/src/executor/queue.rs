//! The queue between streams that have work and the threads that do it.

use super::parallel::Split;
use super::stream::Stream;
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something for a pool thread to do.
pub(crate) enum Job {
    /// Run a stream for a turn.
    Stream(Arc<Stream>),
    /// Help with a large copy or fill.
    Split(Arc<Split>),
}

impl Job {
    pub(crate) fn run(self) {
        match self {
            Self::Stream(stream) => stream.run_listed(),
            Self::Split(split) => split.help(),
        }
    }
}

struct State {
    jobs: VecDeque<Job>,
    sleepers: usize,
    /// Sleepers already told to wake: telling them again would cost a system call for nothing.
    woken: usize,
    open: bool,
}

/// A queue that threads sleep on.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    wake: Condvar,
}

impl ReadyQueue {
    /// A closed queue.
    pub(crate) fn new() -> Self {
        let state = State { jobs: VecDeque::new(), sleepers: 0, woken: 0, open: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// From now on threads serve the queue.
    pub(crate) fn open(&self) {
        self.state.lock().open = true;
    }

    /// Sends the serving threads home, once the queue is empty.
    pub(crate) fn close(&self) {
        self.state.lock().open = false;
        self.wake.notify_all();
    }

    /// Queues a stream; false if no thread serves the queue, so that the caller must.
    pub(crate) fn push(&self, stream: Arc<Stream>) -> bool {
        let mut state = self.state.lock();
        state.jobs.push_back(Job::Stream(stream));
        let open = state.open;
        let wake = state.wake_one();
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        open
    }

    /// Asks up to `most` sleeping threads to help with a split; answers how many were asked.
    ///
    /// Threads with work of their own are not asked: they would come too late to be of use.
    pub(crate) fn ask_for_help(&self, split: &Arc<Split>, most: usize) -> usize {
        let mut state = self.state.lock();
        let free = (state.sleepers - state.woken).min(most);
        if !state.open {
            return 0;
        }
        for _ in 0..free {
            state.jobs.push_front(Job::Split(split.clone()));
            state.woken += 1;
        }
        drop(state);
        for _ in 0..free {
            self.wake.notify_one();
        }
        free
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job.run();
                state = self.state.lock();
            } else if !state.open {
                return;
            } else {
                state.sleepers += 1;
                state = self.wake.wait(state);
                state.sleepers -= 1;
                state.woken = state.woken.saturating_sub(1);
            }
        }
    }

    /// Does one job; false if there is none.
    pub(crate) fn run_one(&self) -> bool {
        let job = self.state.lock().jobs.pop_front();
        job.map(Job::run).is_some()
    }
}

impl State {
    fn wake_one(&mut self) -> bool {
        let wake = self.woken < self.sleepers;
        self.woken += usize::from(wake);
        wake
    }
}
