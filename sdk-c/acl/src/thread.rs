//! What belongs to each thread: its current context, and what it is inside of.

use std::cell::{Cell, RefCell};
use std::thread::LocalKey;

/// A handle for each instance of the runtime, none of them 0; mostly there is one instance.
type Handles = RefCell<Vec<(u64, usize)>>;

thread_local! {
    /// The current context.
    static CONTEXTS: Handles = const { RefCell::new(Vec::new()) };
    /// The stream whose limits hold for the thread.
    static LIMITS: Handles = const { RefCell::new(Vec::new()) };
    /// The stream that waits until a callback in this thread has run.
    static HOLDING: Cell<usize> = const { Cell::new(0) };
    /// The number of the last piece of work that this thread has queued.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

fn get(handles: &'static LocalKey<Handles>, instance: u64) -> usize {
    // A thread that ends has none any more.
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

/// The handle of the thread's current context; 0 if it has none.
pub(crate) fn context(instance: u64) -> usize {
    get(&CONTEXTS, instance)
}

/// Makes a context the thread's current one; 0: none.
pub(crate) fn set_context(instance: u64, context: usize) {
    set(&CONTEXTS, instance, context);
}

/// The handle of the stream whose limits hold for the thread; 0 if there is none.
pub(crate) fn limits(instance: u64) -> usize {
    get(&LIMITS, instance)
}

/// Lets the limits of a stream hold for the thread; 0: of none.
pub(crate) fn set_limits(instance: u64, stream: usize) {
    set(&LIMITS, instance, stream);
}

/// The stream that is held until a callback has run in this thread; 0 if there is none.
pub(crate) fn holding() -> usize {
    HOLDING.try_with(Cell::get).unwrap_or(0)
}

/// Runs a callback that holds a stream back.
pub(crate) fn while_holding<R>(stream: usize, body: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            HOLDING.set(self.0);
        }
    }
    let _restore = Restore(HOLDING.replace(stream));
    body()
}

/// Counts a piece of work that the thread has queued.
pub(crate) fn count_task() {
    let _ = TASK.try_with(|task| task.set(task.get().wrapping_add(1)));
}

/// The number of the last piece of work that the thread has queued; 0 before the first.
pub(crate) fn last_task() -> u32 {
    TASK.try_with(Cell::get).unwrap_or(0)
}
