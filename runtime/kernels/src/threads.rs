//! Threads that share the work of a kernel.
//!
//! A program sets [`Threads`] once. A kernel splits a long computation into parts that write different elements. Each element
//! is computed in the same way by whichever part, so the number of threads does not change the result.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Some threads of the program.
pub trait Threads: Send + Sync {
    /// Returns the number of threads that may take part in the work of a caller, which is one of them.
    fn count(&self) -> usize;

    /// Calls a function once with each number below `parts`, on the calling thread and on others. Returns when all calls have
    /// returned. The function does not panic.
    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync));
}

static THREADS: OnceLock<&'static dyn Threads> = OnceLock::new();

thread_local! {
    /// True while the thread computes a part: its work is not split again.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Sets the threads for all later calls. Returns false if they are already set.
pub fn set(threads: &'static dyn Threads) -> bool {
    THREADS.set(threads).is_ok()
}

/// The minimum number of operations of a part. An operation is a multiplication of a matrix product. So many take about as
/// long as waking a thread.
const PART: usize = 1 << 18;

/// The number of operations that an element of an elementwise operator counts as: it is read from memory and written to it.
pub(crate) const ELEMENT: usize = 8;

/// Returns true if the program has set threads, so that other libraries should use none of their own.
#[must_use]
pub fn are_set() -> bool {
    THREADS.get().is_some()
}

/// Returns the number of parts that are faster than the whole.
#[inline]
pub(crate) fn count(operations: usize) -> usize {
    if operations < 2 * PART { 1 } else { most().min(operations / PART) }
}

/// Returns the most parts that can be computed at the same time.
pub(crate) fn most() -> usize {
    if IS_INSIDE.get() { 1 } else { THREADS.get().map_or(1, |threads| threads.count()) }
}

/// Returns up to `count` ranges that make up `0..len`, with lengths that are multiples of `unit`, except for the last one.
pub(crate) fn ranges(len: usize, count: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
    let step = step(len, count, unit);
    (0..len).step_by(step).map(move |start| start..len.min(start + step))
}

fn step(len: usize, count: usize, unit: usize) -> usize {
    len.div_ceil(count.max(1)).next_multiple_of(unit.max(1)).max(1)
}

/// Calls a function with each part, on several threads if all parts together take many operations. A single part may be split
/// again.
pub(crate) fn each<P: Send>(operations: usize, parts: impl Iterator<Item = P>, work: impl Fn(P) + Sync) {
    let Some(threads) = THREADS.get().filter(|_| count(operations) > 1) else { return parts.for_each(work) };
    let mut parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    if let [part] = &mut parts[..] {
        return part.get_mut().unwrap_or_else(PoisonError::into_inner).take().into_iter().for_each(work);
    }
    let panicked = Mutex::new(None);
    threads.run(parts.len(), &|number| {
        let part = parts[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        let before = IS_INSIDE.replace(true);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| part.into_iter().for_each(&work))) {
            *panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        IS_INSIDE.set(before);
    });
    if let Some(panic) = panicked.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

/// Calls a function with parts of a slice and the index at which each begins, which is a multiple of `unit`.
#[inline]
pub(crate) fn split<T: Send>(
    operations: usize,
    elements: &mut [T],
    unit: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    match count(operations) {
        1 => work(0, elements),
        count => split_into(count, operations, elements, unit, work),
    }
}

/// Does the same as [`split`], with a number of parts. It is a function of its own, so that short operators stay short.
#[inline(never)]
fn split_into<T: Send>(
    count: usize,
    operations: usize,
    elements: &mut [T],
    unit: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let step = step(elements.len(), count, unit);
    let parts = elements.chunks_mut(step).enumerate().map(|(n, part)| (n * step, part));
    each(operations, parts, |(start, part)| work(start, part));
}
