//! Joins the branches of a graph.

use crate::error::Error;
use crate::executor::progress::Progress;
use crate::sync::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Resumes a parked stream when the last of several branches completes.
pub(crate) struct Join {
    parent: Arc<dyn Progress>,
    awaited: AtomicUsize,
}

impl Join {
    pub(crate) fn new(parent: Arc<dyn Progress>, branches: usize) -> Arc<Self> {
        Arc::new(Self { parent, awaited: AtomicUsize::new(branches) })
    }

    /// Counts a branch as done. Its failure becomes the failure of the parent.
    pub(crate) fn arrive(&self, failure: Option<Error>) {
        if let Some(mut error) = failure {
            // The caller knows the stream of the launch, but not the lane.
            if let Error::TaskFailed { stream, .. } = &mut error {
                *stream = self.parent.handle();
            }
            self.parent.fail(error);
        }
        if self.awaited.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.parent.clone().resume();
        }
    }
}
