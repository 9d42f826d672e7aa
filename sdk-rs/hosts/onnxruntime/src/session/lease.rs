//! The objects for which the host needs the factory when it releases them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of leases of this library.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Keeps the factory. The host releases the factory even while sessions use it, and then calls it to release their objects.
pub(crate) struct Lease(());

impl Lease {
    pub(crate) fn new() -> Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Returns true if the host will call the factory again.
    pub(crate) fn any() -> bool {
        COUNT.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
