//! Large copies and fills on several cores or on one, for the benchmark that determined the threshold.

use crate::executor::Shared;
use crate::executor::parallel::Bulk;
use crate::executor::pool::Pool as Threads;
use crate::memory::{Pattern, RawCopy, RawFill};
use std::sync::Arc;

/// A pool of a thread for each core, without a device.
pub struct Pool {
    shared: Arc<Shared>,
    _threads: Threads,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Panics
    /// If the system refuses them.
    #[must_use]
    pub fn start() -> Self {
        let shared = Arc::new(Shared::new());
        let size = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        match Threads::start(&shared, size) {
            Ok(threads) => Self { shared, _threads: threads },
            Err(error) => panic!("{error}"),
        }
    }

    /// Copies as much as both hold, on several cores or on this one.
    pub fn copy(&self, to: &mut [u8], from: &[u8], shared: bool) {
        let size = to.len().min(from.len());
        // SAFETY: both slices are borrowed until the copy is complete, and have `size` bytes.
        let copy = unsafe { RawCopy::new(to.as_mut_ptr() as usize, from.as_ptr() as usize, size) };
        if shared {
            Bulk::Copy(copy).run(&self.shared.ready);
        } else {
            copy.run_alone();
        }
    }

    /// Fills memory, on several cores or on this one.
    pub fn fill(&self, to: &mut [u8], shared: bool) {
        // SAFETY: `to` is borrowed until the fill is done.
        let fill = unsafe { RawFill::new(to.as_mut_ptr() as usize, Pattern::new(&[7]), to.len()) };
        if shared {
            Bulk::Fill(fill).run(&self.shared.ready);
        } else {
            fill.run_alone();
        }
    }
}
