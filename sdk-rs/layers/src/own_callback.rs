//! Callbacks that a layer queues by itself. They report nothing to the program.

use std::cell::Cell;

thread_local! {
    static IS_QUEUED: Cell<bool> = const { Cell::new(false) };
}

/// Queues a callback of a layer.
pub(crate) fn queue<T>(queue: impl FnOnce() -> T) -> T {
    IS_QUEUED.set(true);
    let result = queue();
    IS_QUEUED.set(false);
    result
}

/// Returns true while a layer queues a callback on this thread.
pub(crate) fn is_queued() -> bool {
    IS_QUEUED.get()
}
