//! Worker threads, for jobs that must not run on the thread that starts them.
//!
//! Each running job has its own thread, so no job waits for another. An idle thread ends after a while; [`stop`] ends
//! all idle threads at once, so that no thread is left after the program has finalized the library.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::MutexGuard;
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};
use tenon::support::{Condvar, Mutex};

/// The time for which a thread stays idle before it ends.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// The time for which [`stop`] waits for threads that run a job.
const STOP_TIME: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

/// The worker threads of the library.
static WORKERS: Workers = Workers::new();

thread_local! {
    /// True on a worker thread.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Runs a job on a worker thread. Jobs run concurrently and in any order.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) {
    WORKERS.run(Box::new(job));
}

/// Ends the idle threads and waits for them.
///
/// A thread that runs a job ends after it. The wait for it has a limit, since the job may wait for the caller.
pub(crate) fn stop() {
    WORKERS.stop();
}

struct Workers {
    state: Mutex<State>,
    wake: Condvar,
    ended: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    /// Number of times that the threads were asked to end.
    stops: u64,
    threads: Vec<JoinHandle<()>>,
    /// The threads that are about to end.
    ended: Vec<ThreadId>,
}

impl Workers {
    const fn new() -> Self {
        let state =
            State { jobs: VecDeque::new(), idle: 0, stops: 0, threads: Vec::new(), ended: Vec::new() };
        Self { state: Mutex::new(state), wake: Condvar::new(), ended: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn run(&'static self, job: Job) {
        let spawn = {
            let mut state = self.state();
            state.jobs.push_back(job);
            state.jobs.len() > state.idle
        };
        if !spawn {
            self.wake.notify_one();
            return;
        }
        match thread::Builder::new().name("tenon-acl".to_owned()).spawn(|| self.serve()) {
            Ok(thread) => {
                let ended = {
                    let mut state = self.state();
                    state.threads.push(thread);
                    state.take_ended()
                };
                join(ended);
            }
            // If no thread can be started, the caller runs the jobs.
            Err(_) => {
                while let Some(job) = self.next() {
                    call(job);
                }
            }
        }
    }

    fn stop(&self) {
        let until = Instant::now() + STOP_TIME;
        // A job that calls this must not wait for itself.
        let stays = usize::from(IS_WORKER.get());
        let mut ended = Vec::new();
        let mut state = self.state();
        state.stops += 1;
        self.wake.notify_all();
        loop {
            ended.append(&mut state.take_ended());
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.threads.len() <= stays {
                break;
            }
            state = self.ended.wait_timeout(state, left).0;
        }
        drop(state);
        join(ended);
    }

    fn next(&self) -> Option<Job> {
        self.state().jobs.pop_front()
    }

    fn serve(&self) {
        IS_WORKER.set(true);
        let mut state = self.state();
        let mut stops = state.stops;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                stops = state.stops;
                drop(state);
                call(job);
                state = self.state();
                continue;
            }
            if state.stops != stops {
                break;
            }
            state.idle += 1;
            let (woken, timeout) = self.wake.wait_timeout(state, IDLE_TIME);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                break;
            }
        }
        state.ended.push(thread::current().id());
        self.ended.notify_all();
    }
}

impl State {
    /// Returns the threads that are about to end.
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

/// Waits until the destructors of the threads' local values have run, because their code is in this library.
fn join(ended: Vec<JoinHandle<()>>) {
    for thread in ended {
        // Jobs do not panic, so there is no result to report.
        let _ = thread.join();
    }
}

fn call(job: Job) {
    // The panic hook reports a panic; the other jobs still run.
    let _ = catch_unwind(AssertUnwindSafe(job));
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Barrier};

    use super::Workers;

    /// Returns separate workers for one test, because tests run concurrently.
    fn workers() -> &'static Workers {
        Box::leak(Box::new(Workers::new()))
    }

    #[test]
    fn run_jobs_that_wait_for_each_other_all_run() {
        let workers = workers();
        let barrier = Arc::new(Barrier::new(9));
        for _ in 0..8 {
            let barrier = barrier.clone();
            workers.run(Box::new(move || _ = barrier.wait()));
        }
        barrier.wait();
    }

    #[test]
    fn run_job_after_a_panic_still_runs() {
        let workers = workers();
        let (sent, received) = std::sync::mpsc::channel();
        workers.run(Box::new(|| panic!("as it should")));
        workers.run(Box::new(move || sent.send(7).unwrap()));
        assert_eq!(received.recv(), Ok(7));
    }

    #[test]
    fn stop_leaves_no_thread() {
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
        let workers = workers();
        workers.run(Box::new(move || {
            FLAG.set(Some(flag));
            sent.send(()).unwrap();
        }));
        received.recv().unwrap();
        workers.stop();
        assert!(is_over.load(Ordering::Relaxed));
    }
}
