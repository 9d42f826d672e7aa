//! Threads for what must not run in the thread where it becomes due.
//!
//! There are as many as have something to do at the same time, so that none waits for another; one that finds nothing to
//! do for a while ends. [`rest`] ends them at once, so that a program that has finalised leaves no thread behind.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// How long a thread stays without work.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long [`rest`] waits for threads that have work.
const FAREWELL: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    /// How often the threads were asked to end.
    rests: u64,
    threads: Vec<JoinHandle<()>>,
    /// Those of them that are about to end.
    ended: Vec<ThreadId>,
}

static STATE: Mutex<State> =
    Mutex::new(State { jobs: VecDeque::new(), idle: 0, rests: 0, threads: Vec::new(), ended: Vec::new() });
static WAKE: Condvar = Condvar::new();
static ENDED: Condvar = Condvar::new();

thread_local! {
    /// Whether this is one of the threads.
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something soon, in some other thread. Two jobs may run at the same time, and in any order.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) {
    let spawn = {
        let mut state = state();
        state.jobs.push_back(Box::new(job));
        state.jobs.len() > state.idle
    };
    if !spawn {
        WAKE.notify_one();
        return;
    }
    match thread::Builder::new().name("tenon-acl".to_owned()).spawn(serve) {
        Ok(thread) => {
            let mut state = state();
            state.threads.push(thread);
            state.take_ended();
        }
        // Late is better than never: the caller does what no thread can be had for.
        Err(_) => {
            while let Some(job) = next() {
                call(job);
            }
        }
    }
}

/// Ends the threads that have nothing to do, and waits for them.
///
/// One that still has something to do ends after it. It is waited for a while and not for ever, since its job may wait for
/// the caller.
pub(crate) fn rest() {
    let until = Instant::now() + FAREWELL;
    // A job that has come here cannot wait for itself.
    let stays = usize::from(SERVES.get());
    let mut ended = Vec::new();
    let mut state = state();
    state.rests += 1;
    WAKE.notify_all();
    loop {
        ended.append(&mut state.take_ended());
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || state.threads.len() <= stays {
            break;
        }
        state = ENDED.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(state);
    for thread in ended {
        // Jobs do not panic, so there is nothing to be told.
        let _ = thread.join();
    }
}

impl State {
    /// The threads that are about to end.
    fn take_ended(&mut self) -> Vec<JoinHandle<()>> {
        let State { threads, ended, .. } = self;
        threads
            .extract_if(.., |thread| match ended.iter().position(|id| *id == thread.thread().id()) {
                Some(index) => {
                    ended.swap_remove(index);
                    true
                }
                None => false,
            })
            .collect()
    }
}

fn next() -> Option<Job> {
    state().jobs.pop_front()
}

fn call(job: Job) {
    // A panic is told by the hook; the other jobs must not pay for it.
    let _ = catch_unwind(AssertUnwindSafe(job));
}

fn serve() {
    SERVES.set(true);
    let mut state = state();
    let mut rests = state.rests;
    loop {
        if let Some(job) = state.jobs.pop_front() {
            rests = state.rests;
            drop(state);
            call(job);
            state = self::state();
            continue;
        }
        if state.rests != rests {
            break;
        }
        state.idle += 1;
        let (woken, timeout) = WAKE.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if timeout.timed_out() && state.jobs.is_empty() {
            break;
        }
    }
    state.ended.push(thread::current().id());
    ENDED.notify_all();
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Barrier};

    #[test]
    fn jobs_that_wait_for_each_other_all_have_a_thread() {
        let barrier = Arc::new(Barrier::new(9));
        for _ in 0..8 {
            let barrier = barrier.clone();
            super::run(move || _ = barrier.wait());
        }
        barrier.wait();
    }

    #[test]
    fn a_panic_takes_no_other_job_along() {
        let (sent, received) = std::sync::mpsc::channel();
        super::run(|| panic!("as it should"));
        super::run(move || sent.send(7).unwrap());
        assert_eq!(received.recv(), Ok(7));
    }

    #[test]
    fn no_thread_is_left_after_a_rest() {
        struct Flag(Arc<AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        thread_local!(static FLAG: RefCell<Option<Flag>> = const { RefCell::new(None) });
        let is_over = Arc::new(AtomicBool::new(false));
        let (sent, received) = std::sync::mpsc::channel();
        let flag = Flag(is_over.clone());
        super::run(move || {
            FLAG.set(Some(flag));
            sent.send(()).unwrap();
        });
        received.recv().unwrap();
        super::rest();
        assert!(is_over.load(Ordering::Relaxed));
    }
}
