//! The queue between streams that have work and the threads that do it.

use super::parallel::Split;
use super::progress::Progress;
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, hint};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something for a pool thread to do.
pub(crate) enum Job {
    /// Run a stream for a turn.
    Stream(Arc<dyn Progress>),
    /// Help with work that is split.
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
    /// The number of sleeping threads that were woken already. Waking them again would be a needless system call.
    woken: usize,
    /// The number of threads that poll for a job before they sleep. Each takes one job.
    lingering: usize,
    open: bool,
}

/// The number of times that a thread polls for a job before it sleeps: about as long as waking it takes.
const LOOKS: usize = if cfg!(loom) { 1 } else { 150 };

/// A queue that threads sleep on.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    wake: Condvar,
    /// The number of jobs, readable without the lock.
    length: AtomicUsize,
}

impl ReadyQueue {
    /// Creates a closed queue.
    pub(crate) fn new() -> Self {
        let state = State { jobs: VecDeque::new(), sleepers: 0, woken: 0, lingering: 0, open: false };
        Self { state: Mutex::new(state), wake: Condvar::new(), length: AtomicUsize::new(0) }
    }

    /// Opens the queue: from now on threads serve it.
    pub(crate) fn open(&self) {
        self.state.lock().open = true;
    }

    /// Closes the queue: its threads end once it is empty.
    pub(crate) fn close(&self) {
        self.state.lock().open = false;
        self.wake.notify_all();
    }

    /// Queues a stream; false if no thread serves the queue, so that the caller must.
    pub(crate) fn push(&self, stream: Arc<dyn Progress>) -> bool {
        let mut state = self.state.lock();
        state.jobs.push_back(Job::Stream(stream));
        self.length.store(state.jobs.len(), Ordering::Relaxed);
        let open = state.open;
        let wake = state.wake_one();
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        open
    }

    /// Wakes up to `most` idle threads to help with a split.
    ///
    /// Threads with other work do not take part, because they would join too late.
    pub(crate) fn ask_for_help(&self, split: &Arc<Split>, most: usize) {
        let mut state = self.state.lock();
        if !state.open {
            return;
        }
        let awake = state.lingering.min(most);
        let asleep = (state.sleepers - state.woken).min(most - awake);
        for _ in 0..awake + asleep {
            state.jobs.push_front(Job::Split(split.clone()));
        }
        self.length.store(state.jobs.len(), Ordering::Relaxed);
        state.woken += asleep;
        drop(state);
        for _ in 0..asleep {
            self.wake.notify_one();
        }
    }

    /// Runs jobs until the queue is closed and empty.
    pub(crate) fn serve(&self) {
        let mut state = self.state.lock();
        let mut is_rested = false;
        loop {
            if let Some(job) = self.pop(&mut state) {
                drop(state);
                job.run();
                state = self.state.lock();
                is_rested = false;
            } else if !state.open {
                return;
            } else if !is_rested && state.lingering == 0 {
                state.lingering += 1;
                drop(state);
                self.linger();
                state = self.state.lock();
                state.lingering -= 1;
                is_rested = true;
            } else {
                state.sleepers += 1;
                state = self.wake.wait(state);
                state.sleepers -= 1;
                state.woken = state.woken.saturating_sub(1);
            }
        }
    }

    /// Runs one job. Returns false if there is none.
    pub(crate) fn run_one(&self) -> bool {
        let job = self.pop(&mut self.state.lock());
        job.map(Job::run).is_some()
    }

    /// Returns true if jobs wait for a thread. The result is only a hint.
    pub(crate) fn has_jobs(&self) -> bool {
        self.length.load(Ordering::Relaxed) > 0
    }

    fn pop(&self, state: &mut State) -> Option<Job> {
        let job = state.jobs.pop_front()?;
        self.length.store(state.jobs.len(), Ordering::Relaxed);
        Some(job)
    }

    /// Polls for a job. The result is only a hint.
    fn linger(&self) {
        for _ in 0..LOOKS {
            if self.has_jobs() {
                return;
            }
            hint::spin_loop();
        }
    }
}

impl State {
    /// Returns true if a sleeping thread must be woken, because there are more jobs than polling threads.
    fn wake_one(&mut self) -> bool {
        let wake = self.jobs.len() > self.lingering + self.woken && self.woken < self.sleepers;
        self.woken += usize::from(wake);
        wake
    }
}
