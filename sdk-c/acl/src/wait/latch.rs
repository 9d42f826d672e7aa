//! Latches. A latch opens once; streams and threads can wait for it to open.
//!
//! Devices have events, which are recorded in streams. But a device cannot wait for an action of the host: for a
//! callback to return on its subscriber's thread, or for an event to be recorded at all. A host function that waited
//! inside a stream would block the other streams whose callbacks share its thread. So work behind a latch stays in
//! the stream's pending queue on the host, and is submitted to the device when the latch opens.

use std::sync::{Arc, MutexGuard};
use std::time::Instant;
use tenon::support::{Condvar, Mutex};

use super::workers;

type Waiter = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    is_open: bool,
    waiters: Vec<Waiter>,
}

/// A latch. It is closed at first, and stays open after its guard was dropped.
#[derive(Default)]
pub(crate) struct Latch {
    state: Mutex<State>,
    opened: Condvar,
}

/// Opens a latch when it is dropped, so that no thread waits for an owner that no longer exists.
#[must_use = "dropping the guard opens the latch"]
pub(crate) struct LatchGuard(Arc<Latch>);

impl Latch {
    /// Returns a closed latch with the guard that opens it.
    pub(crate) fn closed() -> (LatchGuard, Arc<Latch>) {
        let latch = Arc::new(Latch::default());
        (LatchGuard(latch.clone()), latch)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state().is_open
    }

    /// Runs `waiter` on a worker thread when the latch opens. If the latch is already open, drops `waiter` and
    /// returns false.
    pub(crate) fn when_open(&self, waiter: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state();
        if !state.is_open {
            state.waiters.push(Box::new(waiter));
        }
        !state.is_open
    }

    /// Blocks until the latch is open; returns false if the deadline passes first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = self.state();
        while !state.is_open {
            state = match until {
                None => self.opened.wait(state),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.opened.wait_timeout(state, left).0
                }
            };
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn open(&self) {
        let waiters = {
            let mut state = self.state();
            state.is_open = true;
            std::mem::take(&mut state.waiters)
        };
        self.opened.notify_all();
        // The guard may be dropped on a thread of the device, which must not call the device.
        for waiter in waiters {
            workers::run(waiter);
        }
    }
}

impl Drop for LatchGuard {
    fn drop(&mut self) {
        self.0.open();
    }
}
