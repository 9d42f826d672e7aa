//! Runs a function for several items in parallel, on as many threads as there are processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::failure::Failure;

/// Runs the function for each item. After a failure, no further item is started.
pub fn each<T: Sync>(things: &[T], work: impl Fn(&T) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let first_failure = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(things.len()) {
            scope.spawn(|| {
                while let Some(thing) = things.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if first_failure().is_some() {
                        return;
                    }
                    if let Err(failure) = work(thing) {
                        first_failure().get_or_insert(failure);
                    }
                }
            });
        }
    });
    match first_failure().take() {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}
