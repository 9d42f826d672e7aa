//! Counts the calls of each function.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenon::device::Function;

/// Number of calls of each function to one device or one plugin.
pub(crate) struct CallCounts([AtomicU64; Function::ALL.len()]);

impl CallCounts {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(CallCounts([const { AtomicU64::new(0) }; Function::ALL.len()]))
    }

    /// Counts a call.
    #[inline]
    pub(crate) fn add(&self, function: Function) {
        self.0[function as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of calls of a function so far.
    pub(crate) fn get(&self, function: Function) -> u64 {
        self.0[function as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_from_several_threads_loses_no_call() {
        let counts = CallCounts::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| counts.add(Function::SetDevice)));
            }
        });
        assert_eq!(counts.get(Function::SetDevice), 4000);
        assert_eq!(counts.get(Function::GetDevice), 0);
    }
}
