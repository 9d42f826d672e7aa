//! Thread-local slots: the current context of a thread, the limits that it uses, and the stream that it holds.

use std::cell::{Cell, RefCell};
use std::thread::LocalKey;

/// One handle per runtime, without those that are 0. A process has one runtime, tests have several.
type Handles = RefCell<Vec<(u64, usize)>>;

thread_local! {
    /// The current context.
    static CONTEXTS: Handles = const { RefCell::new(Vec::new()) };
    /// The stream whose limits apply to the thread.
    static LIMITS: Handles = const { RefCell::new(Vec::new()) };
    /// The stream that waits until a callback on this thread returns.
    static HELD_STREAM: Cell<usize> = const { Cell::new(0) };
    /// The number of the last task that this thread queued.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

fn get(handles: &'static LocalKey<Handles>, instance: u64) -> usize {
    // When a thread ends, its slot may already be destroyed.
    handles
        .try_with(|known| {
            known.borrow().iter().find(|(of, _)| *of == instance).map_or(0, |(_, handle)| *handle)
        })
        .unwrap_or(0)
}

fn set(handles: &'static LocalKey<Handles>, instance: u64, handle: usize) {
    let _ = handles.try_with(|known| {
        let mut known = known.borrow_mut();
        known.retain(|(of, _)| *of != instance);
        if handle != 0 {
            known.push((instance, handle));
        }
    });
}

/// Returns the handle of the thread's current context, or 0.
pub(crate) fn context(instance: u64) -> usize {
    get(&CONTEXTS, instance)
}

/// Sets the thread's current context; 0 clears it.
pub(crate) fn set_context(instance: u64, context: usize) {
    set(&CONTEXTS, instance, context);
}

/// Returns the handle of the stream whose limits apply to the thread, or 0.
pub(crate) fn limits(instance: u64) -> usize {
    get(&LIMITS, instance)
}

/// Applies the limits of a stream to the thread; 0 applies none.
pub(crate) fn set_limits(instance: u64, stream: usize) {
    set(&LIMITS, instance, stream);
}

/// Returns the stream that is held until a callback on this thread returns, or 0.
pub(crate) fn held_stream() -> usize {
    HELD_STREAM.try_with(Cell::get).unwrap_or(0)
}

/// Runs a callback that holds a stream.
pub(crate) fn while_holding<R>(stream: usize, body: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            HELD_STREAM.set(self.0);
        }
    }
    let _restore = Restore(HELD_STREAM.replace(stream));
    body()
}

/// Counts a task that the thread queues.
pub(crate) fn count_task() {
    let _ = TASK.try_with(|task| task.set(task.get().wrapping_add(1)));
}

/// Returns the number of the last task that the thread queued, or 0.
pub(crate) fn last_task() -> u32 {
    TASK.try_with(Cell::get).unwrap_or(0)
}
