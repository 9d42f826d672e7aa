//! How often each function was called: a column for each thread, added up when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenon::device::Function;

/// Calls of one thread to one device. Only that thread writes, so that counting needs no locked instruction.
pub(crate) struct Column([AtomicU64; Function::ALL.len()]);

impl Column {
    fn new() -> Self {
        Column([const { AtomicU64::new(0) }; Function::ALL.len()])
    }

    /// Counts a call; by the thread that the column belongs to.
    #[inline(always)]
    pub(crate) fn count(&self, function: Function) {
        let cell = &self.0[function as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn get(&self, function: Function) -> u64 {
        self.0[function as usize].load(Ordering::Relaxed)
    }
}

/// Calls to one device, or to one plugin.
pub(crate) struct Tally {
    /// Of threads that have ended, and of calls by anybody.
    shared: Column,
    columns: Mutex<Vec<Arc<Column>>>,
}

impl Tally {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Tally { shared: Column::new(), columns: Mutex::default() })
    }

    /// Counts a call by any thread.
    pub(crate) fn count(&self, function: Function) {
        self.shared.0[function as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A column for the calling thread.
    pub(crate) fn column(&self) -> Arc<Column> {
        let column = Arc::new(Column::new());
        self.columns.lock().unwrap_or_else(PoisonError::into_inner).push(column.clone());
        column
    }

    /// Ends the column of a thread that ends.
    pub(crate) fn fold(tally: &Weak<Tally>, column: &Arc<Column>) {
        let Some(tally) = tally.upgrade() else { return };
        let mut columns = tally.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.retain(|other| !Arc::ptr_eq(other, column));
        for function in Function::ALL {
            tally.shared.0[function as usize].fetch_add(column.get(function), Ordering::Relaxed);
        }
    }

    /// All calls of a function so far.
    pub(crate) fn total(&self, function: Function) -> u64 {
        // Under the lock, so that a column is not seen twice or not at all while it is folded.
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.iter().map(|column| column.get(function)).sum::<u64>() + self.shared.get(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_live_and_ended_threads_add_up() {
        let tally = Tally::new();
        let mine = tally.column();
        (0..3).for_each(|_| mine.count(Function::SetDevice));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let tally = tally.clone();
                std::thread::spawn(move || {
                    let column = tally.column();
                    (0..1000).for_each(|_| column.count(Function::SetDevice));
                    Tally::fold(&Arc::downgrade(&tally), &column);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        tally.count(Function::SetDevice);
        assert_eq!(tally.total(Function::SetDevice), 4004);
        assert_eq!(tally.total(Function::GetDevice), 0);
        assert_eq!(tally.columns.lock().unwrap().len(), 1);
    }
}
