//! The lock that a thread holds while it opens or closes something.

use std::sync::MutexGuard;
use tenon::support::Mutex;

use crate::call::thread_state::{self, Inside};
use crate::error::Failure;

/// Held by the thread that opens or closes something.
static LIFECYCLE: Mutex<()> = Mutex::new(());

/// The lifecycle lock. While it is locked, the library runs, and no other thread opens or closes anything.
#[must_use = "another thread may start or stop plugins after this is dropped"]
pub(crate) struct Lifecycle {
    _inside: Inside,
    _lock: MutexGuard<'static, ()>,
}

impl Lifecycle {
    /// Takes the lock. Does not start the library.
    pub(crate) fn lock() -> Result<Self, Failure> {
        // A thread inside a call, such as one of a layer, would wait for itself.
        if thread_state::is_inside() {
            return Err(Failure::busy(
                "nothing can be opened or closed from inside another call or a stream callback",
            ));
        }
        let lock = LIFECYCLE.lock();
        Ok(Lifecycle { _inside: Inside::new(), _lock: lock })
    }
}
