//! What belongs to each thread: its current context, and what it is inside of.

use std::cell::{Cell, RefCell};

thread_local! {
    /// The current context of each instance of the runtime; mostly there is one instance.
    static CONTEXTS: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
    /// The stream that waits until a callback in this thread has run.
    static HOLDING: Cell<usize> = const { Cell::new(0) };
    /// The number of the last piece of work that this thread has queued.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

/// The handle of the thread's current context; 0 if it has none.
pub(crate) fn context(instance: u64) -> usize {
    // A thread that ends has no current context any more.
    CONTEXTS
        .try_with(|known| {
            known.borrow().iter().find(|(of, _)| *of == instance).map_or(0, |(_, context)| *context)
        })
        .unwrap_or(0)
}

/// Makes a context the thread's current one; 0: none.
pub(crate) fn set_context(instance: u64, context: usize) {
    let _ = CONTEXTS.try_with(|known| {
        let mut known = known.borrow_mut();
        known.retain(|(of, _)| *of != instance);
        if context != 0 {
            known.push((instance, context));
        }
    });
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
