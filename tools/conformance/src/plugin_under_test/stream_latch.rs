//! A latch that blocks a stream: work behind it may not run until the latch is opened.

use std::ffi::c_void;
use std::thread::ThreadId;
use std::time::Duration;
use tenon::support::{Condvar, Mutex};

use tenon::device::{Function, Status, ffi};

use super::{PluginUnderTest, id, patience, soon};
use crate::case::{Verdict, blame, skipped};

/// A latch opens by itself before a case runs out of time, so that a stuck plugin can still be queried.
const AT_MOST: Duration = Duration::from_secs(60);

#[derive(Default)]
struct State {
    entered: Option<ThreadId>,
    open: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    caller: ThreadId,
}

/// A callback that does not return until the latch is opened. Dropping the latch opens it.
#[must_use = "the stream continues when this is dropped"]
pub(crate) struct StreamLatch {
    // Leaked: a faulty plugin may call back at any time.
    shared: &'static Shared,
}

impl StreamLatch {
    /// Blocks a stream: work that is queued on it from now on waits.
    ///
    /// This thread must not call a function that may wait for the device until the latch is open. Callbacks
    /// of other streams may be blocked too, so a case has one latch at a time.
    pub(crate) fn close(subject: &PluginUnderTest, device: i32, stream: u64) -> Verdict<Self> {
        let shared: &'static Shared = Box::leak(Box::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            caller: std::thread::current().id(),
        }));
        let context = std::ptr::from_ref(shared).expose_provenance() as u64;
        let callback = enter as Entered as usize as u64;
        subject.ok(Function::StreamAddCallback, &[id(device), stream, callback, context])?;
        let latch = Self { shared };
        if !soon(|| shared.lock().entered.is_some()) {
            let message = format!("a callback on an idle stream was not called within {:?}", patience());
            return blame(Function::StreamAddCallback, message);
        }
        if shared.lock().entered == Some(shared.caller) {
            return skipped(
                "`stream_add_callback` runs the callback before it returns, so no stream can be held",
            );
        }
        Ok(latch)
    }

    /// Opens the latch.
    pub(crate) fn open(&self) {
        self.shared.lock().open = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for StreamLatch {
    fn drop(&mut self) {
        self.open();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock()
    }
}

type Entered = unsafe extern "C" fn(ffi::C_Device, ffi::C_Stream, *mut c_void, *mut Status);

/// Blocks the stream that calls back until the latch is opened, or for [`AT_MOST`].
unsafe extern "C" fn enter(_: ffi::C_Device, _: ffi::C_Stream, context: *mut c_void, _: *mut Status) {
    // SAFETY: the pointer is that of a `Shared` which is never freed.
    let shared = unsafe { &*context.cast::<Shared>() };
    let mut state = shared.lock();
    state.entered = Some(std::thread::current().id());
    if state.entered == Some(shared.caller) {
        return;
    }
    let held = shared.changed.wait_timeout_while(state, AT_MOST, |state| !state.open);
    drop(held);
}
