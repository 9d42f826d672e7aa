//! Splits the work of one call among threads.

use super::queue::ReadyQueue;
use crate::memory::{RawCopy, RawFill};
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering};
use std::sync::Arc;

/// The minimum size in bytes for which a second core is woken.
///
/// Measured with `cargo bench --bench memory` on two cores of a server: on both cores, a copy of 2 MiB
/// took 1.5 times as long as on one core, 4 MiB 0.8 times, and 16 MiB half as long.
pub(crate) const SPLIT_BYTES: usize = 4 << 20;

/// The size in bytes of the piece that a thread takes at a time: large enough that taking it costs nothing, and
/// small enough that all threads finish at about the same time.
const PART_BYTES: usize = 1 << 20;

/// The maximum number of threads, which is enough to reach the bandwidth of the memory.
const MOST_HELPERS: usize = 7;

/// A copy or fill that can be split into parts.
#[derive(Clone, Copy)]
pub(crate) enum Bulk {
    Copy(RawCopy),
    Fill(RawFill),
}

impl Bulk {
    /// Does all parts, with the help of threads that are idle now.
    pub(crate) fn run(self, ready: &ReadyQueue) {
        Split::run(self.len().div_ceil(PART_BYTES), MOST_HELPERS, ready, &|part| {
            let start = part * PART_BYTES;
            self.run_part(start, PART_BYTES.min(self.len() - start));
        });
    }

    fn len(self) -> usize {
        match self {
            Self::Copy(copy) => copy.len,
            Self::Fill(fill) => fill.len,
        }
    }

    fn run_part(self, start: usize, len: usize) {
        match self {
            Self::Copy(copy) => copy.part(start, len).run_alone(),
            Self::Fill(fill) => fill.part(start, len).run_alone(),
        }
    }
}

/// A function of the number of a part.
type Work<'w> = dyn Fn(usize) + Sync + 'w;

/// Work that is being split.
pub(crate) struct Split {
    /// A function that the caller of [`run`](Self::run) has borrowed. A thread that has no part does not call it.
    work: *const Work<'static>,
    parts: usize,
    next: AtomicUsize,
    left: Mutex<usize>,
    finished: Condvar,
}

// SAFETY: the function is `Sync`, and `run` says why it is alive.
unsafe impl Send for Split {}
// SAFETY: as above.
unsafe impl Sync for Split {}

impl Split {
    /// Calls a function with the number of each part, with the help of up to `helpers` threads that are idle now. The
    /// function does not panic.
    pub(crate) fn run(parts: usize, helpers: usize, ready: &ReadyQueue, work: &Work<'_>) {
        // SAFETY: only the lifetime changes. The function is called for a part, and this method waits for all parts.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let split = Arc::new(Self {
            work,
            parts,
            next: AtomicUsize::new(0),
            left: Mutex::new(parts),
            finished: Condvar::new(),
        });
        ready.ask_for_help(&split, helpers.min(parts.saturating_sub(1)));
        split.help();
        let mut left = split.left.lock();
        while *left > 0 {
            left = split.finished.wait(left);
        }
    }

    /// Does parts until none is left.
    pub(crate) fn help(&self) {
        let mut done = 0;
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                break;
            }
            // SAFETY: `run` has borrowed the function until this part is counted.
            unsafe { (*self.work)(part) };
            done += 1;
        }
        let mut left = self.left.lock();
        *left -= done;
        if *left == 0 {
            self.finished.notify_all();
        }
    }
}
